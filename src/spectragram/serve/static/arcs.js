// Dependency arcs over words: known ones strong, inferred ones as strong as the model is sure, doubtful ones dashed.

import { isRightToLeft, percent, shortened, svg, textWidth } from "/static/dom.js";

const WORD = 17, SMALL = 11.5, GAP = 20, MARGIN = 18, LEVEL = 25;
export const DOUBT = 0.6;

/** Height of each word's arc: above all arcs that it covers. Heads count from 1; 0 is the root, null unknown. */
export function levelsOf(heads) {
  const arcs = heads.map((head, i) => (head ? [Math.min(i, head - 1), Math.max(i, head - 1)] : [i, i]));
  const levels = arcs.map(() => 0);
  const order = arcs.map((_, i) => i).sort((a, b) => arcs[a][1] - arcs[a][0] - (arcs[b][1] - arcs[b][0]));
  for (const i of order) {
    if (!heads[i]) continue;
    const [left, right] = arcs[i];
    let below = 0;
    arcs.forEach(([a, b], k) => {
      if (k !== i && a < b && left <= a && b <= right) below = Math.max(below, levels[k]);
    });
    levels[i] = below + 1;
  }
  return levels;
}

function layout(picture) {
  const relations = picture.relations.map((relation) => relation ?? "");
  const widths = picture.words.map((word, i) => Math.max(
    textWidth(shortened(word), WORD), textWidth(picture.tags[i] ?? "·", SMALL), textWidth(relations[i], SMALL) + 8, 22) + GAP);
  const total = widths.reduce((sum, width) => sum + width, 0) + 2 * MARGIN;
  const centres = [];
  let x = MARGIN;
  for (const width of widths) {
    centres.push(x + width / 2);
    x += width;
  }
  const backwards = isRightToLeft(picture.words);
  const levels = levelsOf(picture.heads);
  const base = MARGIN + LEVEL * (Math.max(1, ...levels) + 1) + 4;
  return { widths, total, centres: backwards ? centres.map((c) => total - c) : centres, levels, base };
}

const certainty = (p, known) => (known ? 1 : p == null ? 0.75 : 0.35 + 0.65 * p);

function arcClass(kind, p, known) {
  return `${kind} ${known ? "known" : "inferred"}${!known && p != null && p < DOUBT ? " doubtful" : ""}`;
}

function arc(picture, place, i) {
  const head = picture.heads[i];
  if (head === null) return null;
  const known = picture.known?.heads?.[i] !== null && picture.known?.heads?.[i] !== undefined;
  const p = picture.head_p?.[i];
  const x = place.centres[i], bottom = place.base - 4;
  const strength = certainty(p, known);
  const relation = picture.relations[i] ?? (head === 0 ? "root" : "");
  const tip = `${picture.words[i]} ← ${head ? picture.words[head - 1] : "root"} ${percent(p)}`;
  const group = svg("g", { class: arcClass("arc", p, known), "data-word": i + 1, opacity: strength });
  let labelX = x, labelY = MARGIN + 8, d;
  if (head === 0) {
    d = `M${x},${MARGIN + 12} L${x},${bottom}`;
  } else {
    const side = Math.sign(x - place.centres[head - 1]);
    const start = place.centres[head - 1] + 5 * side;
    const reach = place.base - LEVEL * place.levels[i] - 10;
    const bend = Math.min(Math.abs(x - start) / 2, 26);
    // Rounded shoulders and a flat top keep long arcs low and labels readable.
    const top = bottom - 0.8 * (bottom - reach);
    d = `M${start},${bottom} C${start},${top + 6} ${start + 4 * side},${top} ${start + bend * side},${top} `
      + `L${x - bend * side},${top} C${x - 4 * side},${top} ${x},${top + 6} ${x},${bottom}`;
    labelX = (start + x) / 2;
    labelY = top;
  }
  group.append(
    svg("path", { class: "reach", d }),
    svg("path", { class: "line", d }),
    svg("path", { class: "head", d: `M${x},${place.base - 1} l-4,-7 l8,0 z` }),
  );
  if (relation) {
    const width = textWidth(relation, SMALL) + 6;
    group.append(
      svg("rect", { class: "backing", x: labelX - width / 2, y: labelY - 8, width, height: 15, rx: 3 }),
      svg("text", { class: "relation", x: labelX, y: labelY + 4, "text-anchor": "middle" }, relation),
    );
  }
  group.append(svg("title", {}, `${tip}${relation ? `, ${relation}` : ""}`));
  return group;
}

function word(picture, place, i, selected, doubtful) {
  const known = Boolean(picture.known?.tags?.[i]);
  const tag = picture.tags[i];
  const x = place.centres[i];
  const mark = `word${selected === i + 1 ? " selected" : ""}${doubtful.has(i + 1) ? " unsure" : ""}`;
  return svg("g", { class: mark, "data-word": i + 1 },
    svg("rect", {
      class: "plate", x: x - place.widths[i] / 2 + 3, y: place.base + 1, width: place.widths[i] - 6, height: 44, rx: 6,
    }),
    svg("text", { class: "form", x, y: place.base + 20, "text-anchor": "middle" }, shortened(picture.words[i])),
    svg("text", {
      class: `tag ${known ? "known" : "inferred"}`, x, y: place.base + 37, "text-anchor": "middle",
      opacity: certainty(picture.tag_p?.[i], known),
    }, tag ?? "·"),
    svg("title", {}, `${picture.words[i]}${tag ? `, ${tag} ${percent(picture.tag_p?.[i])}` : ""}`));
}

/** Draw a picture of kind "dependency"; the result has `.place` with the coordinates. */
export function drawArcs(picture, { selected = 0, doubtful = new Set() } = {}) {
  const place = layout(picture);
  const height = place.base + 52;
  const drawing = svg("svg", {
    class: "arcs", width: place.total, height, viewBox: `0 0 ${place.total} ${height}`, role: "img",
    "aria-label": `Dependency arcs over: ${picture.words.join(" ")}`,
  });
  const order = picture.words.map((_, i) => i).sort((a, b) => place.levels[b] - place.levels[a]);
  drawing.append(
    ...order.map((i) => arc(picture, place, i)).filter(Boolean),
    ...picture.words.map((_, i) => word(picture, place, i, selected, doubtful)),
  );
  drawing.place = place;
  return drawing;
}
