"use strict";
(() => {
  const box = document.getElementById("explorer");
  const source = document.getElementById("scenarios");
  if (!box || !source) return;
  const suites = JSON.parse(source.textContent).suites;
  const PAGE = 50;

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const shown = (value, digits = 3) =>
    value === null || value === undefined ? "–"
      : value === "inf" || value === Infinity ? "infinite"
        : value === "-inf" || value === -Infinity ? "−infinite" : value.toFixed(digits).replace("-", "−");
  // Values that tie to nine decimals are equal in the data; what floating point makes of their difference is less.
  const TIE = 5e-10;
  const signed = (value) => {
    if (Math.abs(value) < TIE) return "0.000";
    const small = Math.abs(value) < 5e-4;
    return (value > 0 ? "+" : "") + (small ? value.toPrecision(2).replace("-", "−") : shown(value));
  };
  const numeric = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);

  const state = { suite: 0, measure: 0, group: "", left: 0, right: 1, order: "size", page: 0 };

  const choice = (title, options, value, change) => {
    const select = make("select");
    for (const [key, label] of options) select.append(make("option", { value: key, textContent: label }));
    select.value = String(value);
    select.addEventListener("change", () => change(select.value));
    return make("label", {}, title, select);
  };

  const difference = (row) => {
    const values = row.values[state.measure];
    const left = numeric(values[state.left]);
    const right = numeric(values[state.right]);
    if (left === null || right === null) return null;
    return left === right ? 0 : left - right;
  };

  const startSuite = (index) => {
    const suite = suites[index];
    Object.assign(state, { suite: index, measure: 0, group: "", page: 0, left: suite.pair[0], right: suite.pair[1] });
  };

  const picked = () => {
    const suite = suites[state.suite];
    const found = suite.rows
      .filter((row) => state.group === "" || row.group === Number(state.group))
      .map((row) => ({ row, gap: difference(row) }));
    const size = (gap) => (gap === null ? -1 : Math.abs(gap));
    const orders = {
      size: (a, b) => size(b.gap) - size(a.gap),
      right: (a, b) => (b.gap ?? -Infinity) - (a.gap ?? -Infinity),
      left: (a, b) => (a.gap ?? Infinity) - (b.gap ?? Infinity),
      number: () => 0,
    };
    return found.sort((a, b) => orders[state.order](a, b) || a.row.seed - b.row.seed || a.row.scenario - b.row.scenario);
  };

  const cell = (text, name = "number") => make("td", { className: name, textContent: text });

  const detail = (row, suite) => {
    const inside = make("div", { className: "inside" });
    if (row.truth && row.truth.length) {
      inside.append(make("p", {}, make("strong", { textContent: "What was true. " }), row.truth.join(" · ")));
    }
    const textual = [suite.subject, "ending", "steps"];
    const some = [row.endings ? "ending" : "", row.steps ? "steps" : ""];
    const heads = [suite.subject, ...suite.measures, ...suite.counts, ...some].filter(Boolean);
    const table = make("table");
    const top = make("tr");
    for (const head of heads) {
      top.append(make("th", { scope: "col", className: textual.includes(head) ? "" : "number", textContent: head }));
    }
    const body = make("tbody");
    suite.policies.forEach((policy, index) => {
      const line = make("tr", {}, make("th", { scope: "row", textContent: policy }));
      for (const values of row.values) line.append(cell(shown(values[index])));
      for (const values of row.counts) line.append(cell(shown(values[index], 2)));
      if (row.endings) line.append(cell(suite.endings[row.endings[index]] || "–", ""));
      if (row.steps) line.append(cell(row.steps[index].join(" → ") || "–", "steps long"));
      body.append(line);
    });
    const watch = document.body.dataset.watch;
    if (watch && suite.suite.startsWith("pouring-") || watch && suite.suite.startsWith("q1-")) {
      [...body.rows].forEach((line, index) => {
        const query = new URLSearchParams({ suite: suite.suite, seed: row.seed, scenario: row.scenario, policy: suite.names[index] });
        line.append(make("td", {}, make("a", { href: `${watch}?${query}`, target: "_blank", textContent: "story and replay" })));
      });
    }
    table.append(make("thead", {}, top), body);
    inside.append(table);
    if (!row.steps && suite.some_steps) {
      inside.append(make("p", { textContent: "Steps are kept for the scenarios that differ most, to keep the page small." }));
    }
    return make("tr", { className: "detail" }, make("td", { colSpan: 8 }, inside));
  };

  const addRow = (body, { row, gap }, suite) => {
    const opener = make("button", { type: "button", textContent: `seed ${row.seed}, no. ${row.scenario}` });
    opener.setAttribute("aria-expanded", "false");
    const values = row.values[state.measure];
    const line = make("tr", { className: "row" }, make("th", { scope: "row" }, opener));
    if (suite.groups.length > 1) line.append(cell(suite.groups[row.group], ""));
    line.append(cell(shown(values[state.left])), cell(shown(values[state.right])));
    line.append(cell(gap === null ? "–" : signed(gap)));
    let open = null;
    line.addEventListener("click", () => {
      if (open) open.remove();
      open = open ? null : detail(row, suite);
      if (open) line.after(open);
      line.classList.toggle("open", open !== null);
      opener.setAttribute("aria-expanded", String(open !== null));
    });
    body.append(line);
  };

  const draw = () => {
    const suite = suites[state.suite];
    const redraw = (key, convert = Number) => (value) => {
      state[key] = convert(value);
      state.page = 0;
      draw();
    };
    const named = suite.policies.map((name, index) => [index, name]);
    const left = suite.policies[state.left];
    const right = suite.policies[state.right];
    const choices = make("div", { className: "choices" });
    choices.append(
      choice("Suite", suites.map((s, i) => [i, s.name]), state.suite, (value) => { startSuite(Number(value)); draw(); }),
      choice("Compare", named, state.left, redraw("left")),
      choice("with", named, state.right, redraw("right")),
      choice("by", suite.measures.map((name, i) => [i, name]), state.measure, redraw("measure")),
    );
    if (suite.groups.length > 1) {
      const groups = [["", "all"], ...suite.groups.map((name, i) => [i, name])];
      choices.append(choice("Group", groups, state.group, redraw("group", String)));
    }
    choices.append(choice("First", [
      ["size", "largest difference"], ["right", `${left} most above`], ["left", `${left} most below`],
      ["number", "in order"],
    ], state.order, redraw("order", String)));

    const rows = picked();
    const pages = Math.max(1, Math.ceil(rows.length / PAGE));
    const top = make("tr", {}, make("th", { scope: "col", textContent: "scenario" }));
    if (suite.groups.length > 1) top.append(make("th", { scope: "col", textContent: "group" }));
    for (const head of [left, right, "difference"]) {
      top.append(make("th", { scope: "col", className: "number", textContent: head }));
    }
    const body = make("tbody");
    for (const entry of rows.slice(state.page * PAGE, (state.page + 1) * PAGE)) addRow(body, entry, suite);
    const turn = (step, label) => {
      const button = make("button", { type: "button", textContent: label });
      button.disabled = state.page + step < 0 || state.page + step >= pages;
      button.addEventListener("click", () => { state.page += step; draw(); });
      return button;
    };
    const different = rows.filter((entry) => entry.gap !== null && Math.abs(entry.gap) > TIE).length;
    const summary = `${different} of ${rows.length} differ; page ${state.page + 1} of ${pages}`;
    const turns = make("div", { className: "pages" }, turn(-1, "Previous"), turn(1, "Next"), make("span", { textContent: summary }));
    turns.setAttribute("aria-live", "polite");
    const scroll = make("div", { className: "scroll" }, make("table", {}, make("thead", {}, top), body));
    box.replaceChildren(choices, turns, scroll);
  };

  if (suites.length) {
    startSuite(0);
    draw();
  }
})();
// Paper has no folds: open them all before printing, and put them back afterwards.
(() => {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });
})();
