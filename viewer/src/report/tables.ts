// Tables of a report: a click on a column's title sorts by it, and long tables have a box to look for rows.
const LONG = 8;

function valueOf(cell: Element | undefined): number | string {
  const text = cell?.textContent?.trim() ?? "";
  const number = Number(text.replaceAll(",", "").replace("−", "-").replace(/^<\s*/, "").replace("%", "").split(/\s|±/)[0]);
  return text === "" || text === "–" ? -Infinity : text === "inf" || text === "infinite" ? Infinity : Number.isNaN(number) ? text.toLowerCase() : number;
}

export function compare(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : Number(a > b);
  return String(a).localeCompare(String(b));
}

export function sortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  if (!body || body.rows.length < 2) return;
  const before = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.title = "Sort by this column; a third click brings the order back";
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      for (const other of heads) other.removeAttribute("aria-sort");
      const next = was === null ? "ascending" : was === "ascending" ? "descending" : null;
      const rows = [...before];
      if (next) {
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        rows.sort((a, b) => sign * compare(valueOf(a.cells[column]), valueOf(b.cells[column])));
      }
      body.append(...rows);
    });
  });
}

export function filterable(box: Element, table: HTMLTableElement): void {
  const body = table.tBodies[0];
  if (!body || body.rows.length < LONG) return;
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "rows with …";
  input.setAttribute("aria-label", `Show only rows with this text: ${table.getAttribute("aria-label") ?? "table"}`);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of body.rows) row.hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
  });
  box.querySelector(".scroll")?.before(input);
}
