// A walk through an automaton or a language model: a prefix, the state after it, and what comes next.

import { post } from "/static/api.js";
import { optionBars } from "/static/bars.js";
import { el, percent, show, svg, trouble } from "/static/dom.js";

const TYPING = 120; // milliseconds without a key before the server is asked

function stateStrip(values) {
  const cell = Math.max(6, Math.min(22, 640 / values.length));
  const drawing = svg("svg", {
    class: "state", width: values.length * cell, height: 64, viewBox: `0 0 ${values.length * cell} 64`, role: "img",
    "aria-label": `State: ${values.join(", ")}`,
  });
  drawing.append(svg("path", { class: "grid", d: `M0,32 L${values.length * cell},32` }));
  values.forEach((value, i) => {
    const height = Math.abs(value) * 30;
    drawing.append(svg("rect", {
      class: value < 0 ? "below" : "above", x: i * cell + 1, y: value < 0 ? 32 : 32 - height, width: cell - 2, height: Math.max(height, 0.5),
    }, svg("title", {}, `state ${i + 1}: ${value}`)));
  });
  return drawing;
}

export function walkView(main, there) {
  const models = there.models.filter((model) => model.kind === "automaton" || model.kind === "lm");
  const choice = el("select", { "aria-label": "Model" }, models.map((model) => el("option", { value: model.name }, `${model.name} (${model.kind})`)));
  const prefix = el("input", { id: "prefix", type: "text", dir: "auto", placeholder: "Symbols with spaces between them; empty is the beginning", autocomplete: "off" });
  const steps = el("div", { id: "steps" });
  let asked = 0;

  async function go() {
    const turn = ++asked;
    try {
      const about = await post("/api/walk", { model: choice.value, prefix: prefix.value });
      if (turn !== asked) return; // somebody typed on
      const trail = el("p", { class: "trail" },
        el("button", { type: "button", class: "chip", onclick: () => take([]) }, "start"),
        about.symbols.map((symbol, i) => el("button", {
          type: "button", class: `chip${about.unknown[i] ? " doubtful" : ""}`, onclick: () => take(about.symbols.slice(0, i + 1)),
          title: about.unknown[i] ? "not in the alphabet" : `${about.bits[i] ?? "∞"} bits`,
        }, symbol, el("small", {}, about.bits[i] === null ? "∞" : about.bits[i].toFixed(1)))));
      show(steps, el("section", { class: "card" },
        el("h3", {}, "Where we are"), trail,
        about.state.length ? [el("h3", {}, "State"), el("div", { class: "scroll", tabindex: "0" }, stateStrip(about.state)),
          el("p", { class: "quiet" }, `The ${about.state_is}.`)] : null,
        el("h3", {}, "What comes next"),
        optionBars(about.next, {
          label: (name) => (name === "</s>" ? "end of the string" : name),
          onpick: (name) => name !== "</s>" && take([...about.symbols, name]),
        }),
        about.rest > 0.005 ? el("p", { class: "quiet" }, `All others together: ${percent(about.rest)}`) : null));
    } catch (error) {
      show(steps, trouble(error));
    }
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  function take(symbols) {
    prefix.value = symbols.length ? `${symbols.join(" ")} ` : "";
    prefix.focus();
    go();
  }

  let waiting = 0;
  prefix.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(go, TYPING); });
  choice.addEventListener("change", go);
  show(main,
    el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); go(); } },
      el("label", { for: "prefix" }, "Walk through a model"),
      el("div", { class: "row" }, prefix, choice)),
    steps);
  go();
}
