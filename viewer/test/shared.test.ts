import { describe, expect, it } from "vitest";
import { percent, quantity } from "../src/shared/format";
import { downstream } from "../src/shared/graph";
import { bands, spread } from "../src/shared/posterior";
import { keyOf, stepWords } from "../src/studio/data";
import { picked, shown, signed, startingWith, type Suite } from "../src/report/explorer";

describe("numbers read as in the terminal", () => {
  it.each([[0, "0"], [22.3125, "22.31"], [1234.5, "1234.5"], [0.00012345, "0.000123"], [3, "3"], ["inf", "infinite"]] as const)("quantity %s", (value, text) => expect(quantity(value)).toBe(text));
  it.each([[0, "0%"], [1, "100%"], [0.0004, "<0.1%"], [0.9995, ">99.9%"], [0.245, "25%"], [0.0331, "3.3%"], [0.9949, "99%"], [0.9951, "99.5%"]] as const)("percent %s", (p, text) => expect(percent(p)).toBe(text));
});

describe("the posterior", () => {
  const updates = [{ a: 0.5, b: 0.4 }, { a: 0.1, b: 0.85 }].map((explanations, time) => ({ time, when: "", explanations, doubts: {} }));
  it("puts the likeliest in the end first and what is not shown last, in grey", () => {
    expect(bands(updates).map((band) => band.name)).toEqual(["b", "a", "all others together"]);
    expect(bands(updates).at(-1)!.style).toBe("band-others");
  });
  it("loses no probability", () => {
    for (const i of [0, 1]) expect(bands(updates).reduce((sum, band) => sum + band.shares[i]!, 0)).toBeCloseTo(1);
  });
  it("keeps labels apart, in order and within the chart", () => {
    const places = spread([99, 100, 100], 100, 20);
    expect(places.every((place, i) => i === 0 || place - places[i - 1]! >= 20)).toBe(true);
    expect(places.at(-1)).toBeLessThanOrEqual(90);
  });
});

describe("the graph", () => {
  it("lights all that rests on a node, through any number of edges and circles", () => {
    const lit = downstream("a", [["a", "b", "x"], ["b", "c", "x"], ["c", "a", "x"], ["d", "c", "x"]]);
    expect([...lit].sort()).toEqual(["a", "b", "c"]);
  });
});

describe("the studio", () => {
  it("finds a state by its answers as Python wrote them", () => expect(keyOf([{ probe: "look", outcome: "yes" }, { probe: "weigh", outcome: 2.5 }])).toBe('[["look","yes"],["weigh",2.5]]'));
  it("calls steps as the terminal does", () => {
    expect(stepWords({ kind: "reprobe", probe: "look" })).toBe("run probe look");
    expect(stepWords({ kind: "roll_back", correct: ["a", "b", "c", "d", "e"] })).toBe("roll back a, b, c and 2 more");
  });
});

describe("the explorer of a report", () => {
  const row = (scenario: number, ours: number | "inf" | null, theirs: number | "inf") => ({ seed: 0, scenario, group: scenario % 2, values: [[ours, theirs]], counts: [] });
  const suite: Suite = { name: "s", suite: "s", names: ["a", "b"], subject: "policy", policies: ["A", "B"], measures: ["loss"], counts: [], endings: [], groups: ["x", "y"], pair: [0, 1], some_steps: false, rows: [row(0, 1, 1), row(1, 2, 5), row(2, null, 3), row(3, "inf", "inf"), row(4, 9, 5)] };
  const order = (change: object) => picked({ ...startingWith(suite), ...change }).map(({ row: { scenario } }) => scenario);

  it("shows first what differs most, or in the order asked for", () => {
    expect(order({})).toEqual([4, 1, 0, 3, 2]);
    expect(order({ order: "left" })).toEqual([1, 0, 3, 4, 2]);
    expect(order({ order: "number" })).toEqual([0, 1, 2, 3, 4]);
    expect(order({ group: "1" })).toEqual([1, 3]);
  });

  it("writes what ties as no difference, what is infinite as that, and what is missing as a dash", () => {
    expect([signed(1e-12), signed(-3), signed(2e-5), signed(null)]).toEqual(["0.000", "−3.000", "+0.000020", "–"]);
    expect([shown("inf"), shown("-inf"), shown(null), shown(1.23456, 2)]).toEqual(["infinite", "−infinite", "–", "1.23"]);
  });
});
