import { describe, expect, it } from "vitest";
import { percents } from "../src/shared/format";
import { Newest } from "../src/studio/newest";
import { familyOf } from "../src/studio/policies";

// A question that is answered when the test says so.
function asked() {
  const open: { question: string; answer: (text: string) => void; signal: AbortSignal }[] = [];
  const newest = new Newest<string, string>((question, signal) => new Promise((resolve, reject) => {
    open.push({ question, answer: resolve, signal });
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  }), 5);
  return { newest, open };
}

describe("questions that follow each other", () => {
  it("are asked one at a time, and only the newest of those that wait", async () => {
    const { newest, open } = asked();
    const [one, two, three] = [newest.want("1"), newest.want("2"), newest.want("3")];
    expect(await two).toBeNull();
    open[0]!.answer("a");
    expect(await one).toBe("a");
    await Promise.resolve();
    expect(open.map(({ question }) => question)).toEqual(["1", "3"]);
    open[1]!.answer("c");
    expect(await three).toBe("c");
  });
  it("give up one that takes long once a newer one waits", async () => {
    const { newest, open } = asked();
    const one = newest.want("1");
    const two = newest.want("2");
    expect(await one).toBeNull();
    expect(open[0]!.signal.aborted).toBe(true);
    await expect.poll(() => open.length).toBe(2);
    open[1]!.answer("b");
    expect(await two).toBe("b");
  });
  it("pass an error on, and go on after it", async () => {
    let fails = true;
    const newest = new Newest<string, string>(async (question) => {
      if (fails) throw new Error(question);
      return question;
    });
    await expect(newest.want("1")).rejects.toThrow("1");
    fails = false;
    expect(await newest.want("2")).toBe("2");
  });
});

describe("policies with a number", () => {
  const family = { prefix: "lookahead-", letter: "K", low: 1, high: null, step: 1, usual: 2 };
  it("are known by their family", () => expect(familyOf("lookahead-3", [family])).toEqual({ family, number: 3 }));
  it.each(["lookahead-", "lookahead-x", "best"])("%s is none", (name) => expect(familyOf(name, [family])).toBeNull());
});

describe("two probabilities side by side", () => {
  it.each([[0.32, 0.35, "32%", "35%"], [0.3211, 0.3244, "32.1%", "32.4%"], [0.32111, 0.32114, "32.111%", "32.114%"], [0.5, 0.5, "50%", "50%"]] as const)("%s and %s", (p, q, one, other) => expect(percents(p, q)).toEqual([one, other]));
});
