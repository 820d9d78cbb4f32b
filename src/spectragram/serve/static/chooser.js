// A field to choose a label in: type to filter, Enter takes the first, any other text is a new label.

import { el, percent, show } from "/static/dom.js";

const SHOWN = 14;

/**
 * options: [[value, probability], ...] of the model; labels: all others to choose from; current and known: what is shown
 * now, and whether somebody fixed it. onpick(value) gets null to forget; onleave() after Escape.
 */
export function chooser({ id, title, key, options = [], labels = [], current, known, onpick, onleave, name = String }) {
  const chips = el("div", { class: "chips", role: "group", "aria-label": `${title}: choices` });
  const input = el("input", {
    id, type: "text", autocomplete: "off", spellcheck: "false", placeholder: current === null ? "unknown" : name(current),
    "aria-label": `${title}, now ${current === null ? "unknown" : name(current)}`,
  });
  const chances = new Map(options);
  const all = [...chances.keys(), ...labels.filter((label) => !chances.has(label))];
  let found = all;

  function filter() {
    const typed = input.value.trim().toLowerCase();
    const begin = all.filter((value) => name(value).toLowerCase().startsWith(typed));
    const inside = all.filter((value) => !begin.includes(value) && name(value).toLowerCase().includes(typed));
    found = typed ? [...begin, ...inside] : all;
    const shown = found.slice(0, SHOWN).map((value) => el("button", {
      type: "button", class: `chip${value === current ? " current" : ""}`, tabindex: "-1", onclick: () => onpick(value),
    }, name(value), chances.has(value) ? el("small", {}, percent(chances.get(value))) : null));
    const exact = all.some((value) => name(value) === input.value.trim());
    const fresh = typed && !exact ? el("button", {
      type: "button", class: "chip new", tabindex: "-1", onclick: () => onpick(input.value.trim()),
    }, `new: ${input.value.trim()}`) : null;
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
      const exact = all.find((value) => name(value).toLowerCase() === typed.toLowerCase());
      onpick(exact ?? (found.length ? found[0] : typed));
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
