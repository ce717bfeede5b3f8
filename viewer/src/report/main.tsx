// The page of a report: tables that sort and can be searched, every scenario to look through, and folds that paper opens.
import { render } from "preact";
import { Explorer, type Suite } from "./explorer";
import { filterable, sortable } from "./tables";

for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table");
  if (!table) continue;
  sortable(table);
  filterable(box, table);
}

const place = document.getElementById("explorer");
const { suites = [] } = JSON.parse(document.getElementById("story")!.textContent!) as { suites?: Suite[] };
if (place && suites.length) render(<Explorer suites={suites} watched={document.body.dataset.watch ?? ""} />, place);

let closed: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => closed.forEach((fold) => (fold.open = false)));
document.body.dataset.ready = "yes";
