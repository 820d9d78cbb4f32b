// Annotating heads, relations and tags: drag a word to its head, or choose from lists, with the pointer or with keys.

import { DOUBT, drawArcs } from "/static/arcs.js";
import { chooser } from "/static/chooser.js";
import { announce, el, isRightToLeft, percent, shortened, show, svg } from "/static/dom.js";

export const help = [
  ["← →", "the word before, the next word"],
  ["d", "the next doubtful word"],
  ["h", "choose a head: ← → or a number, then Enter; 0 is the root; Esc leaves it"],
  ["0", "make the word the root"],
  ["t", "choose a tag"],
  ["r", "choose a relation"],
  ["Space", "fix the word as it is shown"],
  ["Delete", "forget what was fixed for the word"],
  ["drag", "drag a word to its head; drag it up, above the arcs, to make it the root"],
];

export class ArcEditor {
  constructor(session, stage, details) {
    Object.assign(this, { session, stage, details, selected: 1, target: null, typed: "" });
    stage.addEventListener("pointerdown", (event) => this.press(event));
  }

  get picture() { return this.session.picture; }

  reset() { this.selected = this.firstDoubt() ?? 1; this.target = null; }

  doubts() {
    const unsure = this.picture.words.map((_, i) => i + 1).filter((word) => {
      const i = word - 1;
      const open = this.picture.known.heads[i] === null;
      return open && this.picture.head_p !== undefined && this.picture.head_p[i] < DOUBT;
    });
    return new Set(unsure);
  }

  firstDoubt() { return this.doubts().values().next().value; }

  render() {
    this.selected = Math.min(this.selected, this.picture.words.length);
    this.drawing = drawArcs(this.picture, { selected: this.selected, doubtful: this.doubts() });
    show(this.stage, this.drawing);
    this.aim();
    this.tell();
    this.scroll();
  }

  scroll() {
    const x = this.drawing.place.centres[this.selected - 1];
    const { scrollLeft, clientWidth } = this.stage;
    if (x < scrollLeft + 60 || x > scrollLeft + clientWidth - 60) this.stage.scrollLeft = x - clientWidth / 2;
  }

  describe() {
    const i = this.selected - 1, { words, tags, heads, relations, head_p: sure } = this.picture;
    const head = heads[i] === null ? "no head" : heads[i] === 0 ? "root" : `head ${words[heads[i] - 1]}`;
    return `word ${this.selected}, ${words[i]}, ${tags[i] ?? "no tag"}, ${head} ${percent(sure?.[i])}, ${relations[i] ?? "no relation"}`;
  }

  tell() {
    const i = this.selected - 1, { picture, session } = this;
    const { known } = picture, labels = session.corpus.labels;
    const back = () => this.stage.focus();
    const place = (head) => (head === 0 ? "0 root" : `${head} ${shortened(picture.words[head - 1])}`);
    const others = picture.words.map((_, k) => k + 1).filter((word) => word !== this.selected)
      .sort((a, b) => Math.abs(a - this.selected) - Math.abs(b - this.selected)); // near words first
    show(this.details,
      el("h2", {}, el("small", {}, String(this.selected)), picture.words[i]),
      chooser({
        id: "choose-tag", title: "Tag", key: "t", options: picture.options.tags?.[i], labels: labels.tags, current: picture.tags[i],
        known: known.tags[i] !== null, onleave: back, onpick: (tag) => this.step({ op: "tag", word: this.selected, tag }),
      }),
      chooser({
        id: "choose-head", title: "Head", key: "h", options: picture.options.heads?.[i], labels: [0, ...others], current: picture.heads[i],
        known: known.heads[i] !== null, onleave: back, name: place, closed: true, onpick: (head) => this.attach(this.selected, numbered(head)),
      }),
      chooser({
        id: "choose-relation", title: "Relation", key: "r", labels: labels.relations, current: picture.relations[i],
        options: picture.relations[i] === null ? [] : [[picture.relations[i], picture.relation_p?.[i]]],
        known: known.relations[i] !== null, onleave: back, onpick: (relation) => this.relate(relation),
      }));
    announce(this.describe());
  }

  step(step) {
    this.stage.focus();
    return this.session.step(step);
  }

  /** Fix a head; the relation is inferred again unless the head stays. */
  attach(word, head) {
    if (head === word || Number.isNaN(head)) return;
    const same = head !== null && head === this.picture.known.heads[word - 1];
    this.step({ op: "arc", word, head, relation: same ? this.picture.known.relations[word - 1] : null });
  }

  relate(relation) {
    const i = this.selected - 1;
    // A relation is a decision about an arc, so it fixes the head that is shown.
    const head = relation === null ? this.picture.known.heads[i] : this.picture.heads[i];
    this.step({ op: "arc", word: this.selected, head, relation });
  }

  select(word) {
    const n = this.picture.words.length;
    this.selected = Math.max(1, Math.min(n, word));
    this.target = null;
    this.render();
  }

  accept() {
    const { tags, heads, relations } = this.picture;
    return { op: "accept", tags, heads, relations };
  }

  // Keys

  key(event) {
    const i = this.selected - 1;
    const forwards = isRightToLeft(this.picture.words) ? "ArrowLeft" : "ArrowRight";
    if (this.target !== null) return this.aimKey(event, forwards);
    switch (event.key) {
      case "ArrowLeft": case "ArrowRight": this.select(this.selected + (event.key === forwards ? 1 : -1)); return true;
      case "Home": this.select(1); return true;
      case "End": this.select(this.picture.words.length); return true;
      case "d": this.nextDoubt(); return true;
      case "h": this.target = this.picture.heads[i] ?? 0; this.typed = ""; this.aim(); return true;
      case "0": this.attach(this.selected, 0); return true;
      case "t": document.getElementById("choose-tag").focus(); return true;
      case "r": document.getElementById("choose-relation").focus(); return true;
      case " ": this.step({ op: "word", word: this.selected, tag: this.picture.tags[i], head: this.picture.heads[i], relation: this.picture.relations[i] }); return true;
      case "Delete": case "Backspace": this.step({ op: "word", word: this.selected, tag: null, head: null, relation: null }); return true;
      default: return false;
    }
  }

  nextDoubt() {
    const doubts = [...this.doubts()];
    const next = doubts.find((word) => word > this.selected) ?? doubts[0];
    if (next) this.select(next);
    else announce("no doubtful words");
  }

  aimKey(event, forwards) {
    const n = this.picture.words.length;
    if (event.key === "Escape") this.target = null;
    else if (event.key === "Enter") {
      const head = this.target;
      this.target = null;
      this.attach(this.selected, head);
    } else if (/^[0-9]$/.test(event.key)) {
      this.typed += event.key;
      if (Number(this.typed) > n) this.typed = event.key;
      this.target = Math.min(n, Number(this.typed));
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.typed = "";
      const step = event.key === forwards ? 1 : -1;
      this.target = (this.target + step + n + 1) % (n + 1);
      if (this.target === this.selected) this.target = (this.target + step + n + 1) % (n + 1);
    } else if (event.key === "ArrowUp") this.target = 0;
    else return false;
    this.aim();
    return true;
  }

  /** Show the head that would be chosen. */
  aim() {
    this.drawing.querySelectorAll(".target").forEach((node) => node.classList.remove("target"));
    this.drawing.querySelector(".rubber")?.remove();
    if (this.target === null) return;
    const { centres, base } = this.drawing.place;
    const x = centres[this.selected - 1], to = this.target ? centres[this.target - 1] : x;
    this.drawing.querySelector(`.word[data-word="${this.target}"]`)?.classList.add("target");
    this.rubber(x, base, to, this.target ? base : 6);
    announce(`head: ${this.target ? this.picture.words[this.target - 1] : "root"}`);
  }

  rubber(x, y, toX, toY) {
    this.drawing.querySelector(".rubber")?.remove();
    const top = Math.min(y, toY) - Math.min(60, 12 + Math.abs(toX - x) / 4);
    const d = toY < 20 ? `M${x},${y} L${toX},${toY}` : `M${x},${y} C${x},${top} ${toX},${top} ${toX},${toY}`;
    this.drawing.append(svg("path", { class: "rubber", d }));
  }

  // The pointer

  press(event) {
    if (event.button !== 0) return;
    const arc = event.target.closest(".arc");
    const word = event.target.closest(".word");
    if (arc && !word) {
      this.select(Number(arc.dataset.word));
      this.stage.focus();
      return;
    }
    if (!word) return;
    event.preventDefault();
    this.stage.focus();
    const from = Number(word.dataset.word), startX = event.clientX, startY = event.clientY;
    let moved = false;
    const where = (moving) => {
      const under = document.elementFromPoint(moving.clientX, moving.clientY)?.closest?.(".arcs .word");
      if (under) return Number(under.dataset.word);
      const box = this.drawing.getBoundingClientRect();
      return moving.clientY < box.top + 34 && moving.clientX > box.left && moving.clientX < box.right ? 0 : null;
    };
    const move = (moving) => {
      moved ||= Math.hypot(moving.clientX - startX, moving.clientY - startY) > 6;
      if (!moved) return;
      const box = this.drawing.getBoundingClientRect();
      const { centres, base } = this.drawing.place;
      this.rubber(centres[from - 1], base, moving.clientX - box.left, moving.clientY - box.top);
      this.drawing.querySelectorAll(".target").forEach((node) => node.classList.remove("target"));
      const over = where(moving);
      if (over && over !== from) this.drawing.querySelector(`.word[data-word="${over}"]`).classList.add("target");
    };
    const end = (last) => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      this.drawing.querySelector(".rubber")?.remove();
      const over = last.type === "pointercancel" ? null : where(last);
      if (moved && over !== null && over !== from) {
        this.selected = from;
        this.attach(from, over);
      } else {
        this.select(from);
      }
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }
}

function numbered(head) {
  return head === null ? null : typeof head === "number" ? head : Number.parseInt(head, 10);
}
