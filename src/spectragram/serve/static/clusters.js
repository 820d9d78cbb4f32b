// Word clusters: search a word; its path, its neighbours, and the tree around it.

import { get } from "/static/api.js";
import { el, show, trouble } from "/static/dom.js";

export function clustersView(main, there) {
  const models = there.models.filter((model) => model.kind === "clusters");
  const choice = el("select", { "aria-label": "Model" }, models.map((model) => el("option", {}, model.name)));
  const words = el("datalist", { id: "words" });
  const search = el("input", { id: "word", type: "search", dir: "auto", list: "words", placeholder: "A word", autocomplete: "off" });
  const found = el("div", { id: "found", "aria-live": "polite" });
  const tree = el("div", { id: "nodes" });

  const link = (word) => el("button", { type: "button", class: "chip", onclick: () => { search.value = word; look(); } }, word);

  async function look() {
    if (!search.value.trim()) return;
    try {
      const about = await get("/api/clusters/word", { model: choice.value, word: search.value });
      show(words, about.suggestions.map((word) => el("option", { value: word })));
      if (about.path === null) {
        show(found, el("p", { class: "quiet" }, `“${about.word}” is not in the vocabulary.`,
          about.suggestions.length ? [" Did you mean ", about.suggestions.map(link)] : ""));
      } else {
        show(found, el("section", { class: "card" },
          el("h2", {}, about.word, el("small", { class: "after" }, `${about.count} times`)),
          el("p", { class: "path", "aria-label": `path ${about.path}` }, [...about.path].map((bit, i) =>
            el("button", { type: "button", title: `The tree at ${about.path.slice(0, i + 1)}`, onclick: () => branch(about.path.slice(0, i + 1)) }, bit))),
          about.neighbours.length ? [el("h3", {}, "Neighbours"), neighbours(about.neighbours)] : null,
          el("h3", {}, "In the same cluster"), el("div", { class: "chips" }, about.cluster.filter((word) => word !== about.word).map(link))));
        await branch(about.path.slice(0, Math.max(0, about.path.length - 2)));
      }
    } catch (error) {
      show(found, trouble(error));
    }
    document.dispatchEvent(new CustomEvent("drawn"));
  }

  function neighbours(list) {
    return el("ul", { class: "options" }, list.map(([word, cosine]) => {
      const bar = el("span", { class: "bar" });
      bar.style.setProperty("--share", Math.max(0, cosine));
      return el("li", {}, el("button", { type: "button", onclick: () => { search.value = word; look(); } },
        el("span", { class: "name" }, word), bar, el("span", { class: "share" }, cosine.toFixed(2))));
    }));
  }

  async function branch(path) {
    const about = await get("/api/clusters/tree", { model: choice.value, path });
    const children = (node) => about.nodes.filter((one) => one.path.length === node.path.length + 1 && one.path.startsWith(node.path));
    const draw = (node) => el("li", {},
      el("button", { type: "button", class: "bits", title: "The tree from here", onclick: () => branch(node.path) }, node.path.slice(path.length) || "·"),
      el("span", { class: "some" }, node.words.join(" "), node.size > node.words.length ? el("small", {}, ` … ${node.size} words`) : null),
      children(node).length ? el("ul", {}, children(node).map(draw)) : null);
    show(tree, el("section", { class: "card" },
      el("h3", {}, ...(path ? ["The tree at ", el("code", {}, path)] : ["The whole tree"]),
        path ? el("button", { type: "button", class: "quiet", onclick: () => branch(path.slice(0, -1)) }, "one level up") : null),
      el("ul", { class: "branch" }, draw(about.nodes[0]))));
  }

  show(main,
    el("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); look(); } },
      el("label", { for: "word" }, "Search a word"),
      el("div", { class: "row" }, search, choice, el("button", { class: "main", type: "submit" }, "Search"), words)),
    found, tree);
  branch("").catch((error) => show(tree, trouble(error)));
}
