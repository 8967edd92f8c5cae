// A list of any number of tasks: pages are fetched as somebody scrolls, and what changes comes in at
// the top by itself.

import { api, Problem, type Schemas } from './api';

export type TaskRow = Schemas['TaskView'];
export interface Filter {
  agent?: string;
  caller?: string;
  state?: string;
  context?: string;
}

const PAGE = 100;

/** Puts what has changed before what is there: the newest status first, every task once. */
export function merge(kept: TaskRow[], changed: TaskRow[]): TaskRow[] {
  if (changed.length === 0) return kept;
  const ids = new Set(changed.map((task) => task.id));
  const rest = kept.filter((task) => !ids.has(task.id));
  return [...changed, ...rest].sort((a, b) =>
    a.updated === b.updated ? 0 : Date.parse(b.updated) - Date.parse(a.updated),
  );
}

export class TaskList {
  rows = $state.raw<TaskRow[]>([]);
  total = $state<number>();
  problem = $state.raw<Problem>();
  isLoaded = $state(false);

  #filter: Filter = {};
  #next: string | undefined;
  #isBusy = false;
  #round = 0;

  get hasMore(): boolean {
    return this.#next !== undefined;
  }

  /** Begins anew with other conditions. */
  async open(filter: Filter): Promise<void> {
    this.#filter = filter;
    const round = ++this.#round;
    this.#isBusy = true;
    try {
      const page = await this.#page({});
      if (round !== this.#round) return;
      this.rows = page.tasks;
      this.total = page.total ?? undefined;
      this.#next = page.next ?? undefined;
      this.problem = undefined;
      this.isLoaded = true;
    } catch (error) {
      if (round === this.#round) this.problem = Problem.of(error);
    } finally {
      if (round === this.#round) this.#isBusy = false;
    }
  }

  /** Fetches the next page, unless it is on its way or there is none. */
  async more(): Promise<void> {
    if (this.#isBusy || this.#next === undefined) return;
    this.#isBusy = true;
    const round = this.#round;
    try {
      const page = await this.#page({ after: this.#next });
      if (round !== this.#round) return;
      const known = new Set(this.rows.map((task) => task.id));
      this.rows = [...this.rows, ...page.tasks.filter((task) => !known.has(task.id))];
      this.#next = page.next ?? undefined;
    } catch (error) {
      if (round === this.#round) this.problem = Problem.of(error);
    } finally {
      if (round === this.#round) this.#isBusy = false;
    }
  }

  /** Looks what has changed since the newest that is known. */
  async refresh(): Promise<void> {
    if (this.#isBusy) return;
    const newest = this.rows[0]?.updated;
    if (!newest) {
      await this.open(this.#filter);
      return;
    }
    const round = this.#round;
    try {
      const page = await this.#page({ updated_after: newest });
      if (round !== this.#round) return;
      if (page.next !== undefined && page.next !== null) {
        // More has happened than fits on a page.
        await this.open(this.#filter);
        return;
      }
      const old = new Map(this.rows.map((task) => [task.id, task]));
      const isNew = (task: TaskRow): boolean => old.get(task.id)?.events !== task.events;
      const changed = page.tasks.filter(isNew);
      if (changed.length > 0) {
        const added = changed.filter((task) => !old.has(task.id)).length;
        this.rows = merge(this.rows, changed);
        if (this.total !== undefined) this.total += added;
      }
      if (this.#filter.state) await this.#recount();
      this.problem = undefined;
    } catch (error) {
      if (round === this.#round) this.problem = Problem.of(error);
    }
  }

  /** Under a condition on the state, tasks leave the list; the count says whether some have. */
  async #recount(): Promise<void> {
    const page = await this.#page({ limit: 1 });
    if (page.total === undefined || page.total === null || page.total === this.total) return;
    await this.open(this.#filter);
  }

  #page(more: { after?: string; updated_after?: string; limit?: number }) {
    return api.get('/api/v1/tasks', { query: { limit: PAGE, ...this.#filter, ...more } });
  }
}
