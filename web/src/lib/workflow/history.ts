/** What can be undone. */

const DEPTH = 200;

/** Steps of one sort that follow each other this closely are one, such as the letters of a word. */
const TOGETHER = 1000;

export class History<T> {
  #past: T[] = [];
  #future: T[] = [];
  #last = { tag: '', at: -Infinity };

  constructor(public now: T) {}

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  /** Notes a step. An empty tag is never one with the step before. */
  push(next: T, tag: string, at: number): void {
    const together = tag !== '' && tag === this.#last.tag && at - this.#last.at < TOGETHER;
    this.#last = { tag, at };
    if (!together) {
      this.#past.push(this.now);
      if (this.#past.length > DEPTH) this.#past.shift();
    }
    this.#future = [];
    this.now = next;
  }

  undo(): T {
    return this.#step(this.#past, this.#future);
  }

  redo(): T {
    return this.#step(this.#future, this.#past);
  }

  #step(from: T[], to: T[]): T {
    const next = from.pop();
    if (next !== undefined) {
      to.push(this.now);
      this.now = next;
      this.#last = { tag: '', at: -Infinity };
    }
    return this.now;
  }
}
