import type { Schemas } from '../../lib/api';

/** Calls of one agent to another. */
export interface Calls {
  from: string;
  to: string;
  count: number;
  failed: number;
  /** When the last of them changed. */
  last: number;
}

/** Counts calls between agents. */
export function gather(tasks: Schemas['TaskView'][]): Calls[] {
  const found = new Map<string, Calls>();
  for (const task of tasks) {
    const from = /^agent:(.+)$/.exec(task.caller ?? '')?.[1];
    if (!from || !task.agent) continue;
    const key = `${from} ${task.agent}`;
    const calls = found.get(key) ?? { from, to: task.agent, count: 0, failed: 0, last: 0 };
    calls.count += 1;
    if (/FAILED|REJECTED/.test(task.state)) calls.failed += 1;
    calls.last = Math.max(calls.last, Date.parse(task.updated));
    found.set(key, calls);
  }
  return [...found.values()];
}
