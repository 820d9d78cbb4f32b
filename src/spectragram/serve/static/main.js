// The views, and which of them the address names.

import { get } from "/static/api.js";
import { analyseView } from "/static/analyse.js";
import { annotateView } from "/static/annotate.js";
import { clustersView } from "/static/clusters.js";
import { openapiView } from "/static/openapi.js";
import { walkView } from "/static/walk.js";
import { el, show, trouble } from "/static/dom.js";

const VIEWS = [
  { name: "analyse", title: "Analyse", view: analyseView, fits: (there) => there.models.length > 0 },
  { name: "annotate", title: "Annotate", view: annotateView, fits: (there) => there.corpus !== null },
  { name: "clusters", title: "Clusters", view: clustersView, fits: (there) => there.models.some((m) => m.kind === "clusters") },
  { name: "walk", title: "Walk", view: walkView, fits: (there) => there.models.some((m) => m.kind === "automaton" || m.kind === "lm") },
  { name: "api", title: "API", view: openapiView, fits: () => true },
];

const main = document.getElementById("main");
let leave = null; // what the view that is shown wants to do when it goes

async function navigate() {
  let there;
  try {
    there = await get("/api/models");
  } catch (error) {
    show(main, trouble(error));
    return;
  }
  const fitting = VIEWS.filter((one) => one.fits(there));
  const first = there.corpus !== null ? "annotate" : fitting[0].name;
  const asked = location.hash.replace(/^#\/?/, "").split("/")[0] || first;
  const chosen = fitting.find((one) => one.name === asked) ?? fitting[0];
  show(document.getElementById("views"), fitting.map((one) =>
    el("a", { href: `#/${one.name}`, "aria-current": one === chosen ? "page" : null }, one.title)));
  document.title = `${chosen.title} · spectragram`;
  if (leave) leave();
  main.dataset.view = chosen.name;
  leave = (await chosen.view(main, there)) ?? null;
}

window.addEventListener("hashchange", navigate);
navigate();
