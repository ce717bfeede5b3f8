// Questions that follow each other faster than they are answered: one is under way at a time, and of those asked meanwhile
// only the newest is kept. So a knob that is dragged is redrawn all along, and nobody waits for answers that are not wanted.
export class Newest<Question, Answer> {
  private waiting: { question: Question; answered: (answer: Promise<Answer> | null) => void } | null = null;
  private underWay: AbortController | null = null;
  private began = 0;

  // One that is not answered within `patience` milliseconds is given up as soon as a newer one waits.
  constructor(private readonly ask: (question: Question, signal: AbortSignal) => Promise<Answer>, private readonly patience = 400) {}

  // The answer; null where a newer question came before it.
  async want(question: Question): Promise<Answer | null> {
    this.waiting?.answered(null);
    const answer = await new Promise<{ of: Promise<Answer> } | null>((resolve) => {
      this.waiting = { question, answered: (of) => resolve(of === null ? null : { of }) };
      if (this.underWay === null) this.next();
      else this.giveUpLater(this.underWay);
    });
    return answer === null ? null : answer.of.catch((error: unknown) => {
      if (error instanceof DOMException && error.name === "AbortError") return null;
      throw error;
    });
  }

  private next(): void {
    if (this.waiting === null) return;
    const { question, answered } = this.waiting;
    this.waiting = null;
    const stop = (this.underWay = new AbortController());
    this.began = performance.now();
    const answer = this.ask(question, stop.signal);
    answered(answer);
    const over = () => {
      this.underWay = null;
      this.next();
    };
    answer.then(over, over);
  }

  private giveUpLater(stop: AbortController): void {
    setTimeout(() => this.underWay === stop && this.waiting !== null && stop.abort(), this.patience - (performance.now() - this.began));
  }
}
