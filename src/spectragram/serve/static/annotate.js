// Annotating a file: sentences in the order of what they teach; every step is saved before it is drawn.

import { get, post, remove } from "/static/api.js";
import { ArcEditor, help as arcHelp } from "/static/edit_arcs.js";
import { TagEditor, help as tagHelp } from "/static/edit_tags.js";
import { TreeEditor, help as treeHelp } from "/static/edit_tree.js";
import { announce, el, show, trouble } from "/static/dom.js";

const EDITORS = { dependency: [ArcEditor, arcHelp], constituency: [TreeEditor, treeHelp], tags: [TagEditor, tagHelp] };
const COMMON = [
  ["Enter", "accept the sentence as it is shown, and go on to the next"],
  ["n p", "the next sentence, the one before"],
  ["u", "undo the last step; Shift+U makes it again"],
  ["g", "train again on all that is annotated"],
  ["?", "this help"],
];
const POLL = 600; // milliseconds between questions about a training that runs
const QUEUE = 14;
const MISSING = { dependency: "tags, heads and relations", constituency: "tags and labels", tags: "labels" };

class Session {
  constructor(main, corpus) {
    this.corpus = corpus;
    this.queue = Promise.resolve(); // steps one after the other, in the order in which they were made
    this.stage = el("div", { id: "stage", class: "stage scroll", tabindex: "0", role: "application", "aria-label": "The sentence; press ? for the keys" });
    this.details = el("aside", { id: "details", class: "card", "aria-label": "The selected word" });
    this.note = el("p", { class: "note", role: "status" });
    this.list = el("ol", { id: "queue" });
    this.bar = el("div", { class: "bar-top" });
    this.train = el("div", { class: "training", id: "training", role: "status" });
    const [Editor, own] = EDITORS[corpus.kind];
    this.editor = new Editor(this, this.stage, this.details);
    this.help = [...own, ...COMMON];
    show(main, this.bar, this.train,
      el("div", { class: "annotate" },
        el("section", { class: "work" }, this.stage, this.note, el("div", { class: "row", id: "actions" },
          el("button", { type: "button", id: "accept", class: "main", onclick: () => this.accept() }, "Accept and go on", el("kbd", {}, "Enter")),
          el("button", { type: "button", id: "previous", onclick: () => this.go(-1) }, "Previous", el("kbd", {}, "p")),
          el("button", { type: "button", id: "next", onclick: () => this.go(1) }, "Next", el("kbd", {}, "n")),
          this.undoButton = el("button", { type: "button", id: "undo", onclick: () => this.move("/api/undo") }, "Undo", el("kbd", {}, "u")),
          this.redoButton = el("button", { type: "button", id: "redo", onclick: () => this.move("/api/redo") }, "Redo", el("kbd", {}, "U"))),
        el("p", { class: "legend" }, el("span", { class: "known" }, "fixed"), el("span", { class: "inferred" }, "inferred"), el("span", { class: "doubtful" }, "doubtful"))),
        this.details,
        el("nav", { class: "card queue", "aria-label": "Sentences" }, el("h3", {}, "What next"), this.list)));
  }

  get place() { return this.corpus.order.indexOf(this.number); }

  async open(number) {
    await this.serial(async () => this.receive(await get(`/api/corpus/${number}`), true));
  }

  /** Do one thing after the other; what goes wrong is told and stops nothing. */
  serial(work) {
    this.stage.setAttribute("aria-busy", "true"); // shown as such when it takes long
    this.queue = this.queue.then(work).catch((error) => this.fail(error)).then(() => this.stage.removeAttribute("aria-busy"));
    return this.queue;
  }

  fail(error) {
    show(this.note, error.message);
    this.note.classList.add("wrong");
    announce(error.message);
    if (error.status === 409) this.reload();
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  receive(answer, fresh = false) {
    const moved = fresh || answer.number !== this.number;
    this.number = answer.number;
    this.version = answer.version;
    this.picture = answer.picture;
    this.corpus.statuses[answer.number] = answer.picture.status;
    if (moved) this.editor.reset();
    this.note.classList.remove("wrong");
    show(this.note, answer.picture.note);
    this.editor.render();
    this.update(answer);
    if (moved) {
      history.replaceState(null, "", `#/annotate/${this.number}`);
      this.listed();
    }
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  step(step) {
    const number = this.number;
    return this.serial(async () => this.receive(await post(`/api/corpus/${number}/step`, { step, version: this.version })));
  }

  move(path) { return this.serial(async () => this.receive(await post(path))); }

  async accept() {
    if (this.accepting) return; // a second Enter must not accept a sentence that nobody has seen
    this.accepting = true;
    const number = this.number;
    await this.step(this.editor.accept());
    this.accepting = false;
    if (this.number === number && this.corpus.statuses[number] === "done") {
      announce("accepted");
      this.go(1, true);
    } else if (!this.note.classList.contains("wrong")) {
      this.tell(`Something is still unknown: choose ${MISSING[this.corpus.kind]} for the rest.`);
    }
  }

  /** The sentence so many places on; with `unfinished`, the next that is not done, wherever it is. */
  go(by, unfinished = false) {
    const { order, statuses } = this.corpus;
    if (unfinished) {
      const later = [...order.slice(this.place + 1), ...order.slice(0, this.place)];
      const next = later.find((number) => statuses[number] !== "done");
      if (next === undefined) this.tell("All sentences are done.");
      else this.open(next);
      return;
    }
    const next = order[this.place + by];
    if (next !== undefined) this.open(next);
    else this.tell(by > 0 ? "This is the last sentence." : "This is the first sentence.");
  }

  /** A word under the picture, also for screen readers. */
  tell(text) {
    show(this.note, text);
    announce(text);
  }

  update(moment) {
    const { statuses, n, name } = this.corpus;
    const done = statuses.filter((status) => status === "done").length;
    this.undoButton.disabled = !moment.can_undo;
    this.redoButton.disabled = !moment.can_redo;
    const meter = el("progress", { max: String(n), value: String(done), "aria-label": "Finished sentences" });
    show(this.bar,
      el("h1", {}, name), el("span", {}, meter, ` ${done} of ${n} done`),
      el("span", { class: "quiet" }, moment.model ? `inferred by ${moment.model}` : "no model yet: annotate some sentences, then train",
        moment.ranking ? ", ranking …" : ""),
      el("span", { class: "grow" }),
      el("button", { type: "button", id: "train", disabled: moment.training.state === "running", onclick: () => this.retrain() }, "Train again", el("kbd", {}, "g")),
      el("button", { type: "button", id: "keys", onclick: () => this.showHelp() }, "Keys", el("kbd", {}, "?")));
    this.trained(moment.training);
    const item = this.list.querySelector(`[data-number="${this.number}"]`);
    if (item) item.className = statuses[this.number];
    if ((moment.training.state === "running" || moment.ranking) && !this.polling) this.poll(moment.generation);
  }

  trained(training) {
    this.train.dataset.state = training.state;
    if (training.state === "idle") { show(this.train); return; }
    if (training.state !== "running") {
      show(this.train, el("p", { class: training.state === "failed" ? "trouble" : "quiet" }, `${training.message} (${training.seconds} s)`));
      return;
    }
    const bar = el("progress", training.total ? { max: String(training.total), value: String(training.done) } : {});
    bar.setAttribute("aria-label", "Training");
    show(this.train, el("p", {}, bar, ` Training: ${training.stage}, ${Math.round(training.seconds)} s `,
      el("button", { type: "button", id: "cancel", onclick: () => this.cancel() }, "Cancel")));
  }

  retrain() { return this.serial(async () => { await post("/api/training"); this.poll(); }); }

  cancel() { return this.serial(async () => { await remove("/api/training"); }); }

  async poll(generation) {
    this.polling = true;
    let before = generation ?? this.generation, moment;
    do {
      await new Promise((resolve) => { setTimeout(resolve, POLL); });
      if (this.closed) return;
      try {
        moment = await get("/api/status");
      } catch (error) {
        this.fail(error);
        break;
      }
      this.update(moment);
      if (before !== undefined && moment.generation !== before) await this.reload();
      before = moment.generation;
    } while (moment.training.state === "running" || moment.ranking);
    this.polling = false;
    if (!this.closed) await this.reload();
  }

  /** Order, labels and the sentence again: another model infers, or somebody else changed something. */
  async reload() {
    try {
      this.corpus = await get("/api/corpus");
    } catch (error) {
      show(this.note, error.message);
      return;
    }
    await this.serial(async () => this.receive(await get(`/api/corpus/${this.number}`)));
    this.listed();
  }

  async listed() {
    const start = Math.max(0, Math.min(this.place - 2, this.corpus.n - QUEUE));
    const { sentences } = await get("/api/corpus/list", { start, n: QUEUE });
    show(this.list, sentences.map(({ number, text, status }) =>
      el("li", { class: status, "data-number": number }, el("button", {
        type: "button", dir: "auto", "aria-current": number === this.number ? "true" : null, onclick: () => this.open(number),
      }, text))));
  }

  showHelp() {
    const dialog = document.getElementById("help");
    show(dialog, el("h2", { id: "help-title" }, "Keys"),
      el("dl", { class: "keys" }, this.help.map(([keys, text]) => el("div", {}, el("dt", {}, keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, text)))),
      el("form", { method: "dialog" }, el("button", { class: "main", autofocus: true }, "Close")));
    dialog.showModal();
  }

  key(event) {
    if (document.getElementById("help").open) return;
    if (event.target.closest("input, textarea, select")) {
      return;
    }
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key.toLowerCase() === "z") this.move(event.shiftKey ? "/api/redo" : "/api/undo");
    else if (control && event.key.toLowerCase() === "y") this.move("/api/redo");
    else if (control || event.altKey) return;
    else if ((event.key === "Enter" || event.key === " ") && event.target.closest("button, a, summary")) return;
    else if (!this.picture || !this.editor.key(event)) {
      const actions = {
        Enter: () => this.accept(), n: () => this.go(1), p: () => this.go(-1), PageDown: () => this.go(1), PageUp: () => this.go(-1),
        u: () => this.move("/api/undo"), U: () => this.move("/api/redo"), g: () => this.retrain(), "?": () => this.showHelp(),
      };
      if (!actions[event.key]) return;
      actions[event.key]();
    }
    event.preventDefault();
  }
}

export async function annotateView(main) {
  let session;
  try {
    const corpus = await get("/api/corpus");
    session = new Session(main, corpus);
    session.generation = corpus.generation;
    const asked = Number.parseInt(location.hash.split("/")[2] ?? "", 10);
    const first = corpus.order.includes(asked) ? asked : corpus.order[0];
    await session.open(first);
    session.stage.focus({ preventScroll: true });
  } catch (error) {
    show(main, trouble(error));
    return null;
  }
  const key = (event) => session.key(event);
  document.addEventListener("keydown", key);
  return () => {
    session.closed = true;
    document.removeEventListener("keydown", key);
  };
}
