// Annotating labels of tokens.

import { DOUBT } from "/static/arcs.js";
import { chooser } from "/static/chooser.js";
import { announce, el, isRightToLeft, percent, show } from "/static/dom.js";

export const help = [
  ["← →", "the token before, the next token"],
  ["d", "the next doubtful token"],
  ["t", "choose a label"],
  ["Space", "fix the label as it is shown"],
  ["Delete", "forget the label that was fixed"],
];

export class TagEditor {
  constructor(session, stage, details) {
    Object.assign(this, { session, stage, details, selected: 1 });
  }

  get picture() { return this.session.picture; }

  doubts() {
    const { words, known, tag_p: sure } = this.picture;
    return words.map((_, i) => i + 1).filter((word) => known.tags[word - 1] === null && sure?.[word - 1] < DOUBT);
  }

  reset() { this.selected = this.doubts()[0] ?? 1; }

  render() {
    const { words, tags, tag_p: sure, known } = this.picture;
    this.selected = Math.min(this.selected, words.length);
    show(this.stage, el("ol", { class: "tags", dir: isRightToLeft(words) ? "rtl" : "ltr" }, words.map((word, i) => {
      const open = known.tags[i] === null;
      const mark = `${open ? "inferred" : "known"}${open && sure?.[i] < DOUBT ? " doubtful" : ""}${this.selected === i + 1 ? " selected" : ""}`;
      const item = el("li", { class: mark, "data-word": i + 1, onpointerdown: (event) => { event.preventDefault(); this.stage.focus(); this.select(i + 1); } },
        el("span", { class: "form" }, word), el("span", { class: "tag" }, tags[i] ?? "·"), el("span", { class: "meter", "aria-hidden": "true" }));
      item.style.setProperty("--share", open ? sure?.[i] ?? 0 : 1);
      return item;
    })));
    this.tell();
  }

  describe() {
    const i = this.selected - 1;
    return `token ${this.selected}, ${this.picture.words[i]}, ${this.picture.tags[i] ?? "no label"} ${percent(this.picture.tag_p?.[i])}`;
  }

  tell() {
    const i = this.selected - 1, { picture } = this;
    show(this.details, el("h2", {}, el("small", {}, String(this.selected)), picture.words[i]), chooser({
      id: "choose-tag", title: "Label", key: "t", options: picture.options.tags?.[i], labels: this.session.corpus.labels.tags,
      current: picture.tags[i], known: picture.known.tags[i] !== null, onleave: () => this.stage.focus(),
      onpick: (tag) => this.step({ op: "tag", word: this.selected, tag }),
    }));
    announce(this.describe());
  }

  step(step) {
    this.stage.focus();
    return this.session.step(step);
  }

  select(word) {
    this.selected = Math.max(1, Math.min(this.picture.words.length, word));
    this.render();
  }

  accept() { return { op: "accept", tags: this.picture.tags }; }

  key(event) {
    const forwards = isRightToLeft(this.picture.words) ? "ArrowLeft" : "ArrowRight";
    switch (event.key) {
      case "ArrowLeft": case "ArrowRight": this.select(this.selected + (event.key === forwards ? 1 : -1)); return true;
      case "d": {
        const doubts = this.doubts();
        const next = doubts.find((word) => word > this.selected) ?? doubts[0];
        if (next) this.select(next);
        return true;
      }
      case "t": document.getElementById("choose-tag").focus(); return true;
      case " ": this.step({ op: "tag", word: this.selected, tag: this.picture.tags[this.selected - 1] }); return true;
      case "Delete": case "Backspace": this.step({ op: "tag", word: this.selected, tag: null }); return true;
      default: return false;
    }
  }
}
