// Short words about what was just done or refused.

import { Problem } from './api';

export interface Toast {
  id: number;
  kind: 'done' | 'failed';
  text: string;
}

class Toasts {
  shown = $state<Toast[]>([]);
  #next = 0;

  done(text: string): void {
    this.#add('done', text, 4000);
  }

  failed(error: unknown): void {
    const problem = Problem.of(error);
    this.#add(
      'failed',
      problem.field ? `${problem.field}: ${problem.message}` : problem.message,
      9000,
    );
  }

  drop(id: number): void {
    this.shown = this.shown.filter((toast) => toast.id !== id);
  }

  #add(kind: Toast['kind'], text: string, duration: number): void {
    const id = this.#next++;
    this.shown = [...this.shown.slice(-3), { id, kind, text }];
    setTimeout(() => this.drop(id), duration);
  }
}

export const toasts = new Toasts();
