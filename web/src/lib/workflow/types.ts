/** What the hub says about workflows and their runs, as its API has it. */

import type { Artifact } from '../a2a';

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Something wrong with a file, and what to do about it. */
export interface Problem {
  code: string;
  message: string;
  severity: 'error' | 'warning';
  /** From 1; 0 for the file as a whole. */
  line: number;
  column: number;
  node?: string | null;
  fix: string;
}

/** A value that a run is given. */
export interface WorkflowInput {
  name: string;
  prompt?: string | null;
  required: boolean;
  default?: Json;
}

/** A line in the list of workflows. */
export interface WorkflowSummary {
  name: string;
  version: number;
  description?: string | null;
  inputs: WorkflowInput[];
  updated_at: string;
  updated_by?: string | null;
  warnings: number;
}

/** One version among those that the hub keeps. */
export interface WorkflowVersion {
  version: number;
  updated_at: string;
  updated_by?: string | null;
}

/** A stored workflow. */
export interface Workflow {
  name: string;
  version: number;
  description?: string | null;
  source: string;
  inputs: WorkflowInput[];
  versions: WorkflowVersion[];
  warnings: Problem[];
}

/** What `validate` found. */
export interface Validation {
  problems: Problem[];
  inputs: WorkflowInput[];
}

export type RunState =
  'working' | 'input_required' | 'auth_required' | 'completed' | 'failed' | 'canceled' | 'rejected';

export type NodeState =
  'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'skipped' | 'canceled';

/** One item of a `map`. */
export interface ItemRun {
  item: number;
  state: NodeState;
  attempt: number;
  task_id?: string | null;
  reason?: string | null;
}

/** Where one node stands. */
export interface NodeRun {
  node: string;
  type: string;
  state: NodeState;
  iteration: number;
  attempt: number;
  started_at?: string | null;
  ended_at?: string | null;
  reason?: string | null;
  task_id?: string | null;
  artifacts?: Artifact[];
  items?: ItemRun[];
}

/** Something that a run waits for. */
export interface Question {
  node: string;
  item?: number | null;
  task_id?: string | null;
  question: 'input' | 'credential';
  text: string;
}

/** One execution of a workflow. */
export interface Run {
  id: string;
  workflow: string;
  version: number;
  state: RunState;
  reason?: string | null;
  inputs?: { [name: string]: Json };
  started_at: string | null;
  ended_at?: string | null;
  updated_at: string;
  seq: number;
  caller?: string | null;
  rerun_of?: string | null;
  nodes?: NodeRun[];
  questions?: Question[];
  output?: Artifact[];
}

/** One entry of a run's log. */
export interface RunEvent {
  seq: number;
  time: string;
  run: string;
  workflow: string;
  type: string;
  node?: string | null;
  iteration?: number | null;
  item?: number | null;
  attempt?: number | null;
  task_id?: string | null;
  payload?: {
    artifacts?: Artifact[];
    reason?: string;
    is_final?: boolean;
    question?: 'input' | 'credential';
    text?: string;
    [key: string]: unknown;
  };
}

/** Whether nothing more will happen in a run of this state. */
export function isOver(state: RunState): boolean {
  return ['completed', 'failed', 'canceled', 'rejected'].includes(state);
}
