// One task as it happens: its log from the beginning, then live, folded into what it is now.

import { address, type Problem, type Schemas } from './api';
import { fold, withMessage, type Message, type StreamEvent, type Task } from './a2a';
import { isOver } from './format';
import { follow, type Link } from './sse';

export interface Logged {
  seq: number;
  kind: string;
  event: StreamEvent;
  message?: Message | undefined;
  /** When it was said, if the event says so. */
  at?: string | undefined;
}

/** More events are folded, but not listed. */
const LISTED = 2000;

export class FollowedTask {
  task = $state.raw<Task>();
  events = $state.raw<Logged[]>([]);
  /** How many there were before those that are listed. */
  skipped = $state(0);
  link = $state<Link>('connecting');
  problem = $state.raw<Problem>();

  #pending: Logged[] = [];
  #isScheduled = false;

  /** Follows a task; the shape of an `$effect`. */
  follow(id: string): () => void {
    this.task = undefined;
    this.events = [];
    this.skipped = 0;
    this.problem = undefined;
    this.#pending = [];
    return follow({
      url: () => address('/api/v1/tasks/{task}/events', { path: { task: id } }),
      after: '0',
      onFrame: (frame) => this.#take(frame.data),
      onLink: (link, problem) => {
        this.link = link;
        this.problem = link === 'refused' ? problem : undefined;
      },
      isOver: () => {
        this.#flush();
        return this.task !== undefined && isOver(this.task.status.state);
      },
    });
  }

  #take(text: string): void {
    const found = JSON.parse(text) as Schemas['TaskEvent'];
    const event = found.event as unknown as StreamEvent;
    const message = (found.message ?? undefined) as unknown as Message | undefined;
    const at = event.statusUpdate?.status.timestamp ?? event.task?.status.timestamp;
    this.#pending.push({ seq: found.seq, kind: found.kind, event, message, at });
    // Long logs come at once: the page is painted once for many events.
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => this.#flush(), 16);
  }

  #flush(): void {
    this.#isScheduled = false;
    const fresh = this.#pending;
    if (fresh.length === 0) return;
    this.#pending = [];
    let task = this.task;
    for (const one of fresh) {
      task = fold(task, one.event);
      if (task && one.message) task = withMessage(task, one.message);
    }
    this.task = task;
    const all = [...this.events, ...fresh];
    this.skipped += Math.max(0, all.length - LISTED);
    this.events = all.slice(-LISTED);
  }
}
