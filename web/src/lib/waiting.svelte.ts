// How many questions wait for a person: the number beside the inbox.

import { api } from './api';
import { every } from './loader.svelte';

const MOST = 100;

class Waiting {
  count = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop: (() => void) | undefined;

  get shown(): string {
    return this.count >= MOST ? `${MOST - 1}+` : String(this.count);
  }

  start(): void {
    if (this.#stop) return;
    void this.load();
    // The hub does not tell of tasks by itself, so it is asked.
    this.#stop = every(4000, () => void this.load());
  }

  /** Looks again in a moment; much that happens at once is one look. */
  soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.load();
    }, 700);
  }

  async load(): Promise<void> {
    try {
      const page = await api.get('/api/v1/inbox', { query: { limit: MOST } });
      this.count = page.items.length;
    } catch {
      // The number is a convenience; the inbox itself says what is wrong.
    }
  }
}

export const waiting = new Waiting();
