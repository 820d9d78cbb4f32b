// The API, from its own description.

import { get } from "/static/api.js";
import { el, show, trouble } from "/static/dom.js";

function operation(method, path, about) {
  const fields = [
    ...(about.parameters ?? []).map((one) => [one.name, one.in, one.schema.type, one.description]),
    ...Object.entries(about.requestBody?.content["application/json"].schema.properties ?? {})
      .map(([name, one]) => [name, "body", one.type, one.description]),
  ];
  return el("section", { class: "card operation" },
    el("h2", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), el("code", {}, path)),
    el("p", {}, about.summary),
    fields.length ? el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, fields.map((field) =>
      el("tr", {}, el("td", {}, el("code", {}, field[0])), el("td", {}, field[1]), el("td", {}, field[2]), el("td", {}, field[3])))))) : null);
}

export async function openapiView(main) {
  try {
    const about = await get("/openapi.json");
    const listed = Object.entries(about.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => operation(method, path, one)));
    show(main, el("p", {}, about.info.description, " The description itself: ", el("a", { href: "/openapi.json" }, "openapi.json"), "."), listed);
  } catch (error) {
    show(main, trouble(error));
  }
  document.dispatchEvent(new CustomEvent("drawn"));
}
