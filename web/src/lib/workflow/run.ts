/**
 * The picture of a run: what the hub said last, and every event since.
 *
 * Invariant: the picture depends on the newest snapshot and the set of events alone, not on the
 * order, the number or the repetition of the pieces in which they came.
 */

import {
  isOver,
  type NodeRun,
  type NodeState,
  type Question,
  type Run,
  type RunEvent,
  type RunState,
} from './types';

/** One stretch in the waterfall: an attempt of a node, or of an item of it. */
export interface Bar {
  node: string;
  item: number | null;
  iteration: number;
  attempt: number;
  task_id: string | null;
  start: string;
  end: string | null;
  state: 'running' | 'waiting' | 'completed' | 'failed' | 'canceled';
}

/** What an event makes of a node. */
const STATES: Record<string, NodeState> = {
  'node.started': 'running',
  'node.resumed': 'running',
  'node.waiting': 'waiting',
  'node.completed': 'completed',
  'node.failed': 'failed',
  'node.skipped': 'skipped',
  'node.canceled': 'canceled',
};

/** What the run does by itself, without a task that could be looked at. */
const UNCALLED = new Set(['input', 'run_input', 'output', 'map', 'wait', 'approval']);

export class RunPicture {
  /** Every event, by its number. */
  readonly events: RunEvent[] = [];
  run: Run;
  nodes = new Map<string, NodeRun>();
  questions: Question[] = [];
  bars: Bar[] = [];
  #snapshot: Run;
  #open = new Map<string, Bar>();

  constructor(snapshot: Run) {
    this.#snapshot = snapshot;
    this.run = snapshot;
    this.#rebuild();
  }

  /** The number of the last event that is in the picture. */
  get seq(): number {
    return Math.max(this.#snapshot.seq, this.lastEvent);
  }

  /** The number of the last event that was received, to go on from. */
  get lastEvent(): number {
    return this.events[this.events.length - 1]?.seq ?? 0;
  }

  /** Whether the log is known to its end. */
  get hasEnded(): boolean {
    const last = this.events[this.events.length - 1]?.type ?? '';
    return ['run.completed', 'run.failed', 'run.canceled'].includes(last);
  }

  /** Takes in an event. Returns whether it was news. */
  add(event: RunEvent): boolean {
    if (event.seq > this.lastEvent) {
      this.events.push(event);
      this.#apply(event);
      return true;
    }
    let at = this.events.length;
    while (at > 0 && (this.events[at - 1]?.seq ?? 0) > event.seq) at--;
    if (this.events[at - 1]?.seq === event.seq) return false;
    this.events.splice(at, 0, event);
    this.#rebuild();
    return true;
  }

  /** Takes in a newer snapshot; an older one is ignored. */
  rebase(snapshot: Run): void {
    if (snapshot.seq < this.#snapshot.seq) return;
    this.#snapshot = snapshot;
    this.#rebuild();
  }

  #rebuild(): void {
    this.run = { ...this.#snapshot };
    this.nodes = new Map();
    for (const node of this.#snapshot.nodes ?? []) this.nodes.set(node.node, copy(node));
    this.questions = [...(this.#snapshot.questions ?? [])];
    this.bars = [];
    this.#open = new Map();
    for (const event of this.events) this.#apply(event);
  }

  #apply(event: RunEvent): void {
    this.#draw(event);
    if (event.seq <= this.#snapshot.seq) return;
    if (event.node) this.#move(this.#node(event.node), event);
    else this.#turn(event);
  }

  /** What an event of the run itself means. */
  #turn(event: RunEvent): void {
    const ends: Record<string, RunState> = {
      'run.completed': 'completed',
      'run.failed': 'failed',
      'run.canceled': 'canceled',
    };
    const end = ends[event.type];
    if (end === undefined || isOver(this.run.state)) return;
    this.run = {
      ...this.run,
      state: end,
      reason: event.payload?.reason ?? null,
      ended_at: event.time,
    };
    this.questions = [];
  }

  /** What an event means for a node; the hub makes its snapshots in the same way. */
  #move(node: NodeRun, event: RunEvent): void {
    const iteration = event.iteration ?? node.iteration;
    if (iteration !== node.iteration) {
      const { node: name, type } = node;
      const fresh: NodeRun = { node: name, type, state: 'pending', iteration, attempt: 0 };
      Object.assign(node, { started_at: null, ended_at: null, reason: null, task_id: null }, fresh);
      node.artifacts = [];
      node.items = [];
    }
    this.#wonder(event);
    const item = event.item ?? null;
    if (item === null) this.#moveNode(node, event);
    else this.#moveItem(node, item, event);
  }

  #moveNode(node: NodeRun, event: RunEvent): void {
    const state = STATES[event.type];
    if (!state) return;
    node.state = state;
    node.attempt = event.attempt ?? node.attempt;
    node.reason = event.payload?.reason ?? null;
    node.task_id =
      UNCALLED.has(node.type) || state === 'skipped'
        ? null
        : (event.task_id ?? node.task_id ?? null);
    if (event.type === 'node.started') {
      node.started_at = event.time;
      node.ended_at = null;
    } else if (event.type === 'node.completed') {
      node.ended_at = event.time;
      // What was taken over from another run was never started here.
      node.started_at ??= event.time;
      const artifacts = event.payload?.artifacts ?? [];
      if (artifacts.length > 0) node.artifacts = artifacts;
    } else if (state !== 'waiting' && state !== 'running') node.ended_at = event.time;
  }

  #moveItem(node: NodeRun, item: number, event: RunEvent): void {
    const state = STATES[event.type];
    if (!state) return;
    const items = (node.items ??= []);
    for (let at = items.length; at <= item; at++) {
      items.push({ item: at, state: 'pending', attempt: 0 });
    }
    const reason = event.payload?.reason ?? null;
    const task_id = event.task_id ?? null;
    items[item] = { item, state, attempt: event.attempt ?? 0, reason, task_id };
    node.started_at ??= event.time;
    if (event.type === 'node.completed') {
      node.artifacts = [...(node.artifacts ?? []), ...(event.payload?.artifacts ?? [])];
    }
    if (node.state === 'pending') node.state = 'running';
  }

  /** Whether an event asks something, or settles what was asked. */
  #wonder(event: RunEvent): void {
    const node = event.node ?? '';
    const item = event.item ?? null;
    if (event.type === 'node.started') return;
    this.questions = this.questions.filter((known) => !isSame(known, node, item));
    if (event.type === 'node.waiting') {
      this.questions.push({
        node,
        item,
        task_id: event.task_id ?? null,
        question: event.payload?.question ?? 'input',
        text: event.payload?.text ?? '',
      });
    }
    this.#mood();
  }

  /** The state of a run that goes on: whether it waits, and for what. */
  #mood(): void {
    if (isOver(this.run.state)) return;
    const kinds = new Set(this.questions.map((question) => question.question));
    const state = kinds.has('credential')
      ? 'auth_required'
      : kinds.size > 0
        ? 'input_required'
        : 'working';
    if (state !== this.run.state) this.run = { ...this.run, state };
  }

  /** A node to be changed: a copy, so that whoever holds the old one sees that it is another. */
  #node(id: string): NodeRun {
    const known = this.nodes.get(id);
    const node: NodeRun = known
      ? copy(known)
      : { node: id, type: '', state: 'pending', iteration: 0, attempt: 0 };
    this.nodes.set(id, node);
    return node;
  }

  /** What an event adds to the waterfall. */
  #draw(event: RunEvent): void {
    if (!event.node) {
      if (event.type === 'run.started' || !event.type.startsWith('run.')) return;
      for (const bar of this.#open.values()) bar.end ??= event.time;
      this.#open.clear();
      return;
    }
    const item = event.item ?? null;
    const key = `${event.node}/${item ?? ''}`;
    if (event.type === 'node.started') {
      const bar: Bar = {
        node: event.node,
        item,
        iteration: event.iteration ?? 0,
        attempt: event.attempt ?? 0,
        task_id: event.task_id ?? null,
        start: event.time,
        end: null,
        state: 'running',
      };
      this.bars.push(bar);
      this.#open.set(key, bar);
      return;
    }
    const bar = this.#open.get(key);
    if (!bar) return;
    bar.task_id = event.task_id ?? bar.task_id;
    if (event.type === 'node.waiting') bar.state = 'waiting';
    else if (event.type === 'node.resumed') bar.state = 'running';
    else {
      bar.end = event.time;
      bar.state =
        event.type === 'node.completed'
          ? 'completed'
          : event.type === 'node.failed'
            ? 'failed'
            : 'canceled';
      this.#open.delete(key);
    }
  }
}

function isSame(known: Question, node: string, item: number | null | undefined): boolean {
  return known.node === node && (known.item ?? null) === (item ?? null);
}

function copy(node: NodeRun): NodeRun {
  return { ...node, items: (node.items ?? []).map((item) => ({ ...item })) };
}
