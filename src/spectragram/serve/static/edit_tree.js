// Annotating phrases: choose words, give them a label; choose a bracket, rename or remove it.

import { chooser } from "/static/chooser.js";
import { announce, el, isRightToLeft, percent, show } from "/static/dom.js";
import { drawTree } from "/static/trees.js";

export const help = [
  ["← →", "the word before, the next word"],
  ["Shift ← →", "fewer or more words"],
  ["↑ ↓", "the bracket above; back down"],
  ["l", "choose a label for these words, or another one for this bracket"],
  ["t", "choose a tag"],
  ["Space", "fix the bracket, or the tag, as it is shown"],
  ["Delete", "these words are not such a phrase; a bracket that was fixed is forgotten"],
  ["drag", "drag over words to choose them"],
];

export class TreeEditor {
  constructor(session, stage, details) {
    Object.assign(this, { session, stage, details, range: [0, 1], chosen: null });
    stage.addEventListener("pointerdown", (event) => this.press(event));
  }

  get picture() { return this.session.picture; }

  reset() { this.range = [0, 1]; this.chosen = null; }

  isKnown(node) {
    return this.picture.known.spans.some(([start, end, label]) =>
      start === node.start && end === node.end && (label === null || label === node.label));
  }

  nodes() {
    const found = [];
    const visit = (node) => { if (node.children) { found.push(node); node.children.forEach(visit); } };
    visit(this.picture.tree);
    return found;
  }

  render() {
    const n = this.picture.words.length;
    this.range = [Math.min(this.range[0], n - 1), Math.min(this.range[1], n)];
    if (this.chosen) this.chosen = this.nodes().find((node) => same(node, this.chosen)) ?? null;
    const mark = (node) => {
      if (!node.children) return this.picture.known.tags[node.start] ? "tag-known" : "tag";
      return this.isKnown(node) ? "known" : "inferred";
    };
    this.drawing = drawTree(this.picture, { range: this.range, chosen: this.chosen, mark });
    show(this.stage, this.drawing);
    this.tell();
    this.scroll();
  }

  scroll() {
    const x = this.drawing.places[this.range[0]];
    const { scrollLeft, clientWidth } = this.stage;
    if (x < scrollLeft + 60 || x > scrollLeft + clientWidth - 60) this.stage.scrollLeft = x - clientWidth / 2;
  }

  describe() {
    const words = this.picture.words.slice(...this.range).join(" ");
    return this.chosen ? `bracket ${this.chosen.label} ${percent(this.chosen.p)} over ${words}` : `words ${words}`;
  }

  tell() {
    const [start, end] = this.range, { picture, chosen } = this, labels = this.session.corpus.labels;
    const back = () => this.stage.focus();
    const span = picture.chart?.find(([a, b]) => a === start && b === end);
    const single = end - start === 1 && !chosen;
    show(this.details,
      el("h2", {}, el("small", {}, `${start + 1}${end - start > 1 ? `–${end}` : ""}`), picture.words.slice(start, end).join(" ")),
      single ? chooser({
        id: "choose-tag", title: "Tag", key: "t", options: picture.options.tags?.[start], labels: labels.tags,
        current: picture.tags[start] === "?" ? null : picture.tags[start], known: picture.known.tags[start] !== null,
        onleave: back, onpick: (tag) => this.step({ op: "tag", word: start + 1, tag }),
      }) : null,
      chooser({
        id: "choose-label", title: chosen ? "Label" : "Put a bracket", key: "l", options: span?.[2], labels: labels.spans,
        current: chosen && chosen.label !== "?" ? chosen.label : null, known: chosen !== null && this.isKnown(chosen), onleave: back,
        onpick: (label) => this.label(label),
      }),
      chosen ? el("p", {}, el("button", { type: "button", onclick: () => this.drop() },
        this.isKnown(chosen) ? "Forget this bracket" : "This is not a phrase", el("kbd", {}, "Delete"))) : null,
      forbidden(picture.known.forbidden, picture.words, (step) => this.step(step)));
    announce(this.describe());
  }

  step(step) {
    this.stage.focus();
    return this.session.step(step);
  }

  label(label) {
    const [start, end] = this.range;
    if (label === null) return this.drop();
    const replaces = this.chosen?.label ?? null;
    this.chosen = { start, end, label };
    return this.step({ op: "span", start, end, label, replaces });
  }

  drop() {
    if (!this.chosen) return undefined;
    const { start, end, label } = this.chosen;
    const exact = this.picture.known.spans.find(([a, b, own]) => a === start && b === end && (own === label || own === null));
    this.chosen = null;
    if (exact) return this.step({ op: "forget", start, end, label: exact[2] });
    return this.step({ op: "forbid", start, end, label });
  }

  accept() { return { op: "accept", tree: this.picture.brackets }; }

  select(range, chosen = null) {
    const n = this.picture.words.length;
    const start = Math.max(0, Math.min(n - 1, range[0]));
    this.range = [start, Math.max(start + 1, Math.min(n, range[1]))];
    this.chosen = chosen;
    this.render();
  }

  key(event) {
    const [start, end] = this.range;
    const forwards = isRightToLeft(this.picture.words) ? "ArrowLeft" : "ArrowRight";
    switch (event.key) {
      case "ArrowLeft": case "ArrowRight": {
        const by = event.key === forwards ? 1 : -1;
        if (event.shiftKey) this.select([start, end + by]);
        else if (by > 0) this.select([end, end + 1].map((x) => Math.min(x, this.picture.words.length)));
        else this.select([start - 1, start]);
        return true;
      }
      case "ArrowUp": this.up(); return true;
      case "ArrowDown": this.select([start, start + 1]); return true;
      case "l": document.getElementById("choose-label").focus(); return true;
      case "t": document.getElementById("choose-tag")?.focus(); return true;
      case " ": this.fix(); return true;
      case "Delete": case "Backspace": this.drop(); return true;
      default: return false;
    }
  }

  up() {
    const [start, end] = this.range;
    const size = (node) => node.end - node.start;
    const above = this.nodes().filter((node) => node.start <= start && node.end >= end).reverse();
    const ordered = above.sort((a, b) => size(a) - size(b));
    const at = this.chosen ? ordered.findIndex((node) => same(node, this.chosen)) : -1;
    const next = ordered[at + 1];
    if (next) this.select([next.start, next.end], next);
  }

  fix() {
    const [start, end] = this.range;
    if (this.chosen) this.step({ op: "span", start, end, label: this.chosen.label });
    else if (end - start === 1) this.step({ op: "tag", word: start + 1, tag: this.picture.tags[start] });
  }

  press(event) {
    if (event.button !== 0) return;
    const node = event.target.closest(".node");
    const word = event.target.closest(".word");
    if (!node && !word) return;
    event.preventDefault();
    this.stage.focus();
    if (node) {
      const found = this.nodes().find((one) => same(one, {
        start: Number(node.dataset.start), end: Number(node.dataset.end), label: node.dataset.label,
      }));
      this.select([found.start, found.end], found);
      return;
    }
    const from = Number(word.dataset.word) - 1;
    this.select([from, from + 1]);
    const move = (moving) => {
      const under = document.elementFromPoint(moving.clientX, moving.clientY)?.closest?.(".tree .word");
      if (!under) return;
      const to = Number(under.dataset.word) - 1;
      const range = [Math.min(from, to), Math.max(from, to) + 1];
      if (range[0] !== this.range[0] || range[1] !== this.range[1]) this.select(range);
    };
    const end = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }
}

function same(a, b) {
  return a.start === b.start && a.end === b.end && a.label === b.label;
}

function forbidden(spans, words, step) {
  if (!spans?.length) return null;
  return el("div", { class: "field" }, el("p", {}, "Known not to be phrases"), el("div", { class: "chips" }, spans.map(([start, end, label]) =>
    el("button", { type: "button", class: "chip", title: "Forget it", onclick: () => step({ op: "forget", start, end, label }) },
      `${label ?? "any"}: ${words.slice(start, end).join(" ")} ✕`))));
}
