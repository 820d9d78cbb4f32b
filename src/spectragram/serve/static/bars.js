// Bars: surprisal over words, and lists of options with their probabilities.

import { el, isRightToLeft, percent, shortened, svg, textWidth } from "/static/dom.js";

/** 1, 2 or 5 times a power of ten, so that there are at most six lines: one word can have hundreds of bits. */
function gridStep(largest) {
  const power = 10 ** Math.floor(Math.log10(largest / 6));
  return Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((step) => largest / step <= 6));
}

/** Bits of every word, and of the end of the sentence where the model predicts it. */
export function drawSurprisal(picture) {
  const words = picture.words.map(shortened);
  const names = picture.bits.length > words.length ? [...words, "(end)"] : words;
  const largest = Math.max(1, ...picture.bits.filter((bits) => bits !== null));
  const tall = 150, base = tall + 26;
  const widths = names.map((name) => Math.max(textWidth(name, 15) + 16, 40));
  const total = widths.reduce((sum, width) => sum + width, 0) + 54;
  const drawing = svg("svg", {
    class: "surprisal", width: total, height: base + 34, viewBox: `0 0 ${total} ${base + 34}`, role: "img",
    "aria-label": `Surprisal in bits: ${names.map((name, i) => `${name} ${picture.bits[i] ?? "infinite"}`).join(", ")}`,
  });
  for (let bits = 0, step = gridStep(largest); bits <= largest; bits += step) {
    const y = base - (bits / largest) * tall;
    drawing.append(
      svg("path", { class: "grid", d: `M36,${y} L${total - 8},${y}` }),
      svg("text", { class: "axis", x: 30, y: y + 4, "text-anchor": "end" }, String(bits)),
    );
  }
  drawing.append(svg("text", { class: "axis", x: 30, y: 12, "text-anchor": "end" }, "bits"));
  let x = 44;
  const backwards = isRightToLeft(picture.words);
  names.forEach((name, i) => {
    const bits = picture.bits[i];
    const height = bits === null ? tall : Math.max(1, (bits / largest) * tall);
    const middle = backwards ? total - 8 - (x - 44) - widths[i] / 2 : x + widths[i] / 2;
    drawing.append(svg("g", { class: `bar${bits === null ? " infinite" : ""}` },
      svg("rect", { x: middle - 13, y: base - height, width: 26, height, rx: 3 }),
      svg("text", { class: "value", x: middle, y: base - height - 6, "text-anchor": "middle" }, bits === null ? "∞" : bits.toFixed(1)),
      svg("text", { class: "form", x: middle, y: base + 20, "text-anchor": "middle" }, name)));
    x += widths[i];
  });
  return drawing;
}

/** A list of names with bars as long as their probabilities; `onpick` makes them buttons. */
export function optionBars(options, { onpick = null, label = (name) => name } = {}) {
  return el("ul", { class: "options" }, options.map(([name, p]) => {
    const bar = el("span", { class: "bar" });
    bar.style.setProperty("--share", p);
    const parts = [el("span", { class: "name" }, label(name)), bar, el("span", { class: "share" }, percent(p))];
    return el("li", {}, onpick ? el("button", { type: "button", onclick: () => onpick(name) }, parts) : parts);
  }));
}

/** Words with their tags; the panel below shows what else the word under the pointer, or in focus, could be. */
export function tagRow(picture) {
  const panel = el("div", { class: "panel", "aria-live": "polite" }, el("p", { class: "quiet" }, "Point at a word to see what else it could be."));
  const row = el("ol", { class: "tags", dir: isRightToLeft(picture.words) ? "rtl" : "ltr" }, picture.words.map((word, i) => {
    const p = picture.tag_p?.[i];
    const tell = () => {
      const others = picture.options?.tags?.[i] ?? [];
      panel.replaceChildren(el("p", {}, el("b", {}, word)), optionBars(others));
    };
    const item = el("li", { tabindex: "0", class: p != null && p < 0.6 ? "doubtful" : "", onfocus: tell, onpointerenter: tell },
      el("span", { class: "form" }, word), el("span", { class: "tag" }, picture.tags[i] ?? "·"),
      el("span", { class: "meter", "aria-hidden": "true" }));
    item.style.setProperty("--share", p ?? 0);
    return item;
  }));
  return el("div", {}, row, panel);
}
