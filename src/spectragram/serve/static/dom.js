// Elements from data. Text becomes text nodes and nothing else, so words of a corpus can never become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element: el("button", {class: "quiet", onclick: f}, "text", otherElement). */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace what a node contains. */
export function show(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Tell screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** A message about something that went wrong, in place of a result. */
export function trouble(error) {
  return el("p", { class: "trouble", role: "alert" }, error.message);
}

export function percent(p) {
  if (p === undefined || p === null) return "";
  return p > 0.995 && p < 1 ? "99 %" : `${Math.round(100 * p)} %`;
}

const canvas = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** Width of a text in pixels, measured once. */
export function textWidth(text, size) {
  const key = `${size} ${text}`;
  if (!widths.has(key)) {
    if (widths.size > 20000) widths.clear();
    canvas.font = `${size}px system-ui, sans-serif`;
    widths.set(key, canvas.measureText(text).width);
  }
  return widths.get(key);
}

/** A long word, such as an address, cut in the middle for pictures. */
export function shortened(word) {
  const letters = [...word]; // emoji and rare letters stay whole
  return letters.length > 30 ? `${letters.slice(0, 18).join("")}…${letters.slice(-8).join("")}` : word;
}

/** Whether a text runs from right to left: its first letter with a direction decides. */
export function isRightToLeft(words) {
  const letters = words.join("").match(/\p{L}/u);
  return letters !== null && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/u.test(letters[0]);
}
