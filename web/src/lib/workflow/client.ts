/** Calls of the hub's API for workflows and runs. */

import { call, LONG_PATIENCE } from '../api';
import type { Json, Run, RunEvent, Validation, Workflow, WorkflowSummary } from './types';

const BASE = '/api/v1';

export const workflows = {
  list: (signal?: AbortSignal) =>
    call<{ workflows: WorkflowSummary[] }>('get', `${BASE}/workflows`, signed(signal)),
  get: (name: string, version?: number) =>
    call<Workflow>('get', `${BASE}/workflows/{name}`, { path: { name }, query: { version } }),
  save: (name: string, source: string, expected: number | null) =>
    call<Workflow>('put', `${BASE}/workflows/{name}`, {
      path: { name },
      // A new one must not take the place of another that has its name.
      body: { source, expect_version: expected ?? 0 },
    }),
  remove: (name: string) => call<unknown>('delete', `${BASE}/workflows/{name}`, { path: { name } }),
  validate: (source: string, signal: AbortSignal) =>
    call<Validation>('post', `${BASE}/workflows/validate`, { body: { source }, signal }),
  run: (name: string, inputs: Record<string, Json>, version?: number) =>
    call<Run>('post', `${BASE}/workflows/{name}/runs`, {
      path: { name },
      body: version === undefined ? { inputs } : { inputs, version },
    }),
};

export interface RunFilter {
  workflow?: string;
  state?: string;
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

/** How a run is repeated. Without anything, only what has not succeeded runs again. */
export interface Rerun {
  from?: string[];
  from_start?: boolean;
  inputs?: Record<string, Json>;
  newest?: boolean;
}

export const runs = {
  list: (query: RunFilter, signal?: AbortSignal) =>
    call<{ runs: Run[]; next?: string | null }>('get', `${BASE}/runs`, {
      query,
      ...signed(signal),
    }),
  get: (id: string) => call<Run>('get', `${BASE}/runs/{id}`, { path: { id } }),
  cancel: (id: string) =>
    call<unknown>('post', `${BASE}/runs/{id}/cancel`, { path: { id }, patience: LONG_PATIENCE }),
  answer: (id: string, node: string, item: number | null, text: string) =>
    call<unknown>('post', `${BASE}/runs/{id}/nodes/{node}/answer`, {
      path: { id, node },
      query: { item },
      body: { text },
    }),
  rerun: (id: string, body: Rerun) =>
    call<Run>('post', `${BASE}/runs/{id}/rerun`, { path: { id }, body }),
};

/** Reads an event of a run's stream; nothing if it is none. */
export function readEvent(data: string): RunEvent | null {
  try {
    const event = JSON.parse(data) as RunEvent;
    return typeof event.seq === 'number' && typeof event.type === 'string' ? event : null;
  } catch {
    return null;
  }
}

function signed(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}
