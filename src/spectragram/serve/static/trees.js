// Phrase trees with a probability for every bracket, and the chart of all probable spans.

import { isRightToLeft, percent, shortened, svg, textWidth } from "/static/dom.js";
import { DOUBT } from "/static/arcs.js";

const WORD = 17, LABEL = 13, GAP = 18, MARGIN = 16, ROW = 40;

function heightOf(node) {
  return node.children ? 1 + Math.max(...node.children.map(heightOf)) : 0;
}

function widest(node, widths) {
  // A label over one word needs room too.
  if (node.end - node.start === 1) widths[node.start] = Math.max(widths[node.start], textWidth(node.label, LABEL));
  for (const child of node.children ?? []) widest(child, widths);
}

/** Draw a picture of kind "constituency". `range` is the selected [start, end); `chosen` a selected node. */
export function drawTree(picture, { range = null, chosen = null, mark = () => "inferred" } = {}) {
  const widths = picture.words.map((word, i) => Math.max(textWidth(shortened(word), WORD), textWidth(picture.tags[i] ?? "?", LABEL), 24));
  widest(picture.tree, widths);
  const total = widths.reduce((sum, width) => sum + width + GAP, 0) + 2 * MARGIN;
  const centres = [];
  let x = MARGIN;
  widths.forEach((width) => {
    centres.push(x + (width + GAP) / 2);
    x += width + GAP;
  });
  const places = isRightToLeft(picture.words) ? centres.map((c) => total - c) : centres;
  const deepest = heightOf(picture.tree);
  const y = (depth) => MARGIN + 14 + depth * ROW;
  const bottom = y(deepest);
  const height = bottom + 62;
  const drawing = svg("svg", {
    class: "tree", width: total, height, viewBox: `0 0 ${total} ${height}`, role: "img",
    "aria-label": `Phrase tree: ${picture.brackets ?? picture.words.join(" ")}`,
  });
  const lines = svg("g", { class: "branches" }), nodes = svg("g");
  const centreOf = (node) => {
    if (!node.children) return places[node.start];
    const inner = node.children.map(centreOf);
    return (inner[0] + inner[inner.length - 1]) / 2;
  };
  const visit = (node, depth) => {
    const cx = centreOf(node), below = y(depth) + 10;
    for (const child of node.children ?? []) {
      const childX = centreOf(child), childY = child.children ? y(depth + 1) : bottom;
      const faint = mark(child) === "known" || mark(child) === "tag-known" ? 1 : 0.4 + 0.6 * (child.p ?? 0.6);
      // Sideways right below the parent, then straight down: branches never cross.
      lines.append(svg("path", {
        d: `M${cx},${below} C${cx},${below + 11} ${childX},${below + 3} ${childX},${below + 15} L${childX},${childY - 13}`, opacity: faint,
      }));
      visit(child, depth + 1);
    }
    nodes.append(node.children ? phrase(node, cx, y(depth), mark(node), chosen) : leaf(node, cx, bottom, mark(node), range));
  };
  visit(picture.tree, 0);
  if (range) {
    const sides = places.slice(range[0], range[1]);
    const left = Math.min(...sides) - widths[range[0]] / 2 - 6, right = Math.max(...sides) + widths[range[1] - 1] / 2 + 6;
    drawing.append(svg("rect", { class: "range", x: left, y: bottom - 15, width: right - left, height: 58, rx: 8 }));
  }
  drawing.append(lines, nodes);
  drawing.places = places;
  drawing.widths = widths;
  return drawing;
}

function same(a, b) {
  return a !== null && a.start === b.start && a.end === b.end && a.label === b.label;
}

function phrase(node, x, y, mark, chosen) {
  const width = Math.max(textWidth(node.label, LABEL) + 14, 26);
  const doubtful = mark === "inferred" && node.p != null && node.p < DOUBT ? " doubtful" : "";
  return svg("g", {
    class: `node ${mark}${doubtful}${same(chosen, node) ? " selected" : ""}`,
    "data-start": node.start, "data-end": node.end, "data-label": node.label,
  },
  svg("rect", { class: "plate", x: x - width / 2, y: y - 12, width, height: 22, rx: 6 }),
  svg("text", { class: "label", x, y: y + 4, "text-anchor": "middle" }, node.label),
  svg("title", {}, `${node.label}${node.p == null ? "" : ` ${percent(node.p)}`}`));
}

function leaf(node, x, y, mark, range) {
  const inside = range && node.start >= range[0] && node.start < range[1];
  const known = mark === "tag-known";
  return svg("g", { class: `word${inside ? " selected" : ""}`, "data-word": node.start + 1 },
    svg("rect", { class: "reach", x: x - 20, y: y - 14, width: 40, height: 56 }),
    svg("text", {
      class: `tag ${known ? "known" : "inferred"}`, x, y: y + 4, "text-anchor": "middle",
      opacity: known || node.p == null ? 1 : 0.4 + 0.6 * node.p,
    }, node.label),
    svg("text", { class: "form", x, y: y + 32, "text-anchor": "middle" }, shortened(node.word)),
    svg("title", {}, `${node.word}, ${node.label}${node.p == null ? "" : ` ${percent(node.p)}`}`));
}

/** All probable spans as a triangle: the longer a span, the higher; the surer its best label, the darker. */
export function drawChart(picture) {
  const n = picture.words.length;
  const cell = Math.max(16, Math.min(34, 900 / n));
  const longest = Math.max(...picture.words.map((word) => textWidth(shortened(word), 12)));
  const height = n * cell * 0.7 + 16 + longest * 0.72;
  const width = n * cell + 24 + longest * 0.72;
  const baseline = n * cell * 0.7 + 6;
  const drawing = svg("svg", {
    class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "Probabilities of all spans; the table of them is in the API",
  });
  const diamond = (x, y) => `M${x},${y - cell * 0.33} l${cell * 0.48},${cell * 0.33} l${-cell * 0.48},${cell * 0.33} l${-cell * 0.48},${-cell * 0.33} z`;
  let all = "";
  for (let end = 1; end <= n; end += 1) {
    for (let start = 0; start < end; start += 1) all += diamond(12 + ((start + end) / 2) * cell, baseline - (end - start - 0.5) * cell * 0.7);
  }
  drawing.append(svg("path", { class: "empty", d: all }));
  for (const [start, end, options] of picture.chart) {
    const [label, p] = options[0];
    const x = 12 + ((start + end) / 2) * cell, y = baseline - (end - start - 0.5) * cell * 0.7;
    const words = picture.words.slice(start, end).join(" ");
    const named = options.map(([name, chance]) => `${name} ${percent(chance)}`).join(", ");
    drawing.append(svg("g", { class: "cell" },
      svg("path", { d: diamond(x, y), opacity: 0.08 + 0.92 * p }),
      cell >= 24 && p > 0.3 ? svg("text", { class: p > 0.5 ? "on" : "", x, y: y + 3.5, "text-anchor": "middle" }, label.slice(0, 5)) : null,
      svg("title", {}, `${words}: ${named}`)));
  }
  picture.words.forEach((word, i) => {
    const x = 12 + (i + 0.5) * cell;
    drawing.append(svg("text", { class: "form", transform: `translate(${x - 3},${baseline + 10}) rotate(45)` }, shortened(word)));
  });
  return drawing;
}
