/** The task of a node, as the hub's API tells it. */

import type { Task } from '../a2a';
import { isRecord } from './graph';

/** Finds the A2A task in an answer that may wrap it. */
export function readTask(answer: unknown): Task | null {
  if (!isRecord(answer)) return null;
  const found = isRecord(answer.task) ? answer.task : answer;
  return isRecord(found.status) && typeof found.id === 'string' ? (found as unknown as Task) : null;
}
