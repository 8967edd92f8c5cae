// Something that is read from the hub, shown, and read again.

import { Problem } from './api';

export class Loader<T> {
  data = $state.raw<T>();
  problem = $state.raw<Problem>();
  isLoading = $state(false);

  #round = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly read: () => Promise<T>) {}

  /** Reads anew. What was there stays until the new is; of two reads the later counts. */
  async load(): Promise<void> {
    const round = ++this.#round;
    this.isLoading = true;
    try {
      const data = await this.read();
      if (round !== this.#round) return;
      this.data = data;
      this.problem = undefined;
    } catch (error) {
      if (round === this.#round) this.problem = Problem.of(error);
    } finally {
      if (round === this.#round) this.isLoading = false;
    }
  }

  /** Forgets what was read, and reads something else. */
  fresh(): Promise<void> {
    this.data = undefined;
    return this.load();
  }

  /** Reads in a moment; much that happens at once is one read. */
  soon(delay = 300): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.load();
    }, delay);
  }

  /** Stops a read that was put off. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Does something every so often while the page is looked at. The shape of an `$effect`. */
export function every(milliseconds: number, act: () => void): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible') act();
  }, milliseconds);
  const back = (): void => {
    if (document.visibilityState === 'visible') act();
  };
  document.addEventListener('visibilitychange', back);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', back);
  };
}
