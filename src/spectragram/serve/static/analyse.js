// Type or paste a text and see what a model says about it.

import { post } from "/static/api.js";
import { drawArcs } from "/static/arcs.js";
import { drawSurprisal, tagRow } from "/static/bars.js";
import { drawChart, drawTree } from "/static/trees.js";
import { el, isRightToLeft, percent, show, trouble } from "/static/dom.js";

const TASKS = {
  pipeline: "words, tags and dependencies", dependency: "dependencies", constituency: "phrase trees", tagger: "tags",
  clusters: "word clusters", lm: "surprisal", automaton: "surprisal", hmm: "hidden states of numbers",
};

function scrolled(drawing, words) {
  const dir = isRightToLeft(words) ? "rtl" : "ltr"; // scrolls from where the sentence begins
  return el("div", { class: "scroll", dir, tabindex: "0", role: "group", "aria-label": "Picture; scrolls sideways" }, drawing);
}

function facts(picture) {
  const rows = picture.words.map((word, i) => el("tr", {},
    el("td", {}, String(i + 1)), el("td", {}, word), el("td", {}, picture.lemmas[i]), el("td", {}, picture.tags[i] ?? "_"),
    el("td", {}, picture.features[i]), el("td", {}, String(picture.heads[i] ?? "_")), el("td", {}, picture.relations[i] ?? "_"),
    el("td", { class: "number" }, percent(picture.head_p?.[i]))));
  const names = ["", "word", "lemma", "tag", "features", "head", "relation", "sure"];
  return el("details", {}, el("summary", {}, "Table"),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, names.map((name) => el("th", {}, name)))), el("tbody", {}, rows))));
}

function clusterRow(picture) {
  return el("ol", { class: "tags paths", dir: isRightToLeft(picture.words) ? "rtl" : "ltr" }, picture.words.map((word, i) => {
    const path = picture.paths[i];
    const item = el("li", {}, el("span", { class: "form" }, word), el("span", { class: "tag" }, path ?? "unknown"));
    // Words with the same beginning of the path have similar colours.
    if (path !== null) item.style.setProperty("--hue", Math.round(360 * parseInt(path.padEnd(10, "0").slice(0, 10), 2) / 1024));
    return item;
  }));
}

function sentence(picture) {
  if (picture.kind === "dependency") return [scrolled(drawArcs(picture), picture.words), facts(picture)];
  if (picture.kind === "constituency") {
    return [scrolled(drawTree(picture), picture.words),
      el("details", { open: true }, el("summary", {}, "Chart of spans"), scrolled(drawChart(picture), [])),
      el("details", {}, el("summary", {}, "Brackets"), el("pre", {}, picture.brackets))];
  }
  if (picture.kind === "surprisal") return [scrolled(drawSurprisal(picture), picture.words)];
  if (picture.kind === "clusters") return [clusterRow(picture)];
  return [tagRow(picture)];
}

function cards(sentences) {
  if (!sentences.length) return [el("p", { class: "quiet" }, "No sentences.")];
  return sentences.map((picture) => el("section", { class: "card" }, sentence(picture)));
}

export function analyseView(main, there) {
  const kept = sessionStorage.getItem("text") ?? "";
  const choice = el("select", { id: "model" }, there.models.map((model) =>
    el("option", { value: model.name }, `${model.name} — ${TASKS[model.kind] ?? model.kind}`)));
  const before = sessionStorage.getItem("model");
  if (there.models.some((model) => model.name === before)) choice.value = before;
  const text = el("textarea", { id: "text", rows: "3", dir: "auto", placeholder: "One sentence a line. Ctrl+Enter analyses." });
  text.value = kept;
  const spaces = el("input", { type: "checkbox", id: "spaces" });
  const results = el("div", { id: "results", "aria-live": "polite" });
  const surprise = el("button", { type: "button", onclick: () => run("/api/surprisal") }, "Surprisal");

  async function run(path) {
    sessionStorage.setItem("text", text.value);
    sessionStorage.setItem("model", choice.value);
    results.setAttribute("aria-busy", "true");
    try {
      const found = await post(path, { model: choice.value, text: text.value, punctuation: !spaces.checked });
      show(results, cards(found.sentences));
    } catch (error) {
      show(results, trouble(error));
    }
    results.removeAttribute("aria-busy");
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  const update = () => {
    const model = there.models.find((one) => one.name === choice.value);
    surprise.hidden = !(model.has_surprisal && model.kind === "constituency");
    show(about, Object.entries(model.facts).map(([name, value]) =>
      el("div", {}, el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)))));
  };
  const about = el("dl", { class: "facts" });
  choice.addEventListener("change", () => { update(); if (text.value.trim()) run("/api/analyse"); });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run("/api/analyse");
  });
  show(main,
    el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); run("/api/analyse"); } },
      el("label", { for: "text" }, "Text"), text,
      el("div", { class: "row" },
        el("label", { for: "model", class: "unseen" }, "Model"), choice,
        el("button", { class: "main", type: "submit" }, "Analyse"), surprise,
        el("label", { class: "check" }, spaces, " words are separated by spaces already"))),
    results,
    el("details", { class: "about" }, el("summary", {}, "About this model"), about));
  update();
  if (kept) run("/api/analyse");
}
