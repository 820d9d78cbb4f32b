// A field to choose a label in: type to filter, Enter takes the first; other text, or Shift+Enter, makes a new label.

import { el, percent, show } from "/static/dom.js";

const SHOWN = 14;

/**
 * options: [[value, probability], ...] of the model; labels: all others to choose from; current and known: what is shown
 * now, and whether somebody fixed it. onpick(value) gets null to forget; onleave() after Escape. With `closed` there
 * are no other values than these.
 */
export function chooser({ id, title, key, options = [], labels = [], current, known, onpick, onleave, name = String, closed = false }) {
  const chips = el("div", { class: "chips", role: "group", "aria-label": `${title}: choices` });
  const input = el("input", {
    id, type: "text", autocomplete: "off", spellcheck: "false", placeholder: current === null ? "unknown" : name(current),
    "aria-label": `${title}, now ${current === null ? "unknown" : name(current)}`,
  });
  const chances = new Map(options);
  const all = [...chances.keys(), ...labels.filter((label) => !chances.has(label))];
  const same = (value, typed) => name(value) === typed || String(value) === typed;
  let found = all;

  function filter() {
    const given = input.value.trim(), typed = given.toLowerCase();
    const exact = all.filter((value) => same(value, given));
    const begin = all.filter((value) => !exact.includes(value) && name(value).toLowerCase().startsWith(typed));
    const inside = all.filter((value) => !exact.includes(value) && !begin.includes(value) && name(value).toLowerCase().includes(typed));
    found = typed ? [...exact, ...begin, ...inside] : all;
    const shown = found.slice(0, SHOWN).map((value) => el("button", {
      type: "button", class: `chip${value === current ? " current" : ""}`, tabindex: "-1", onclick: () => onpick(value),
    }, el("bdi", {}, name(value)), chances.has(value) ? el("small", {}, percent(chances.get(value))) : null));
    const fresh = typed && !closed && !exact.length ? el("button", {
      type: "button", class: "chip new", tabindex: "-1", onclick: () => onpick(given),
    }, `new: ${given}`, found.length ? el("kbd", {}, "⇧ Enter") : null) : null;
    show(chips, shown, fresh);
  }

  input.addEventListener("input", filter);
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      onleave();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const typed = input.value.trim();
      if (!typed) {
        if (current !== null) onpick(current); // fix what is shown
        return;
      }
      if (event.shiftKey && !closed) onpick(typed);
      else if (found.length) onpick(found.find((value) => name(value).toLowerCase() === typed.toLowerCase()) ?? found[0]);
      else if (!closed) onpick(typed);
    } else if (event.key === "Tab" || event.key === "?") {
      return;
    }
  });
  filter();
  return el("div", { class: `field${known ? " known" : ""}` },
    el("label", { for: id }, title, el("kbd", {}, key)), input,
    known ? el("button", { type: "button", class: "quiet", title: "Forget it: let the model infer it", onclick: () => onpick(null) }, "forget") : null,
    chips);
}
