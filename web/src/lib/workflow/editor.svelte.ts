/** A workflow while somebody edits it: one text, drawn and written, checked by the hub. */

import { Problem as Refusal } from '../api';
import { paste, toClip } from './clip';
import { workflows } from './client';
import { WorkflowText, type Draft } from './document';
import { starter } from './fields';
import { reachable, type Graph } from './graph';
import { History } from './history';
import { layout, places, type Point } from './layout';
import { edgeWords } from './summary';
import type { Json, Problem, Workflow, WorkflowInput, WorkflowVersion } from './types';

/** How long to wait after the last key before the hub is asked. */
const CHECK_AFTER = 300;
const DRAFT = 'nuncio.workflow.draft.';

export const BLANK = `# What is done, step by step: docs/reference/workflow.md
name: my-workflow
version: 1
nodes: []
edges: []
`;

export class Editor {
  text = $state.raw(WorkflowText.read(''));
  /** The last graph that could be read: what the canvas draws. */
  graph = $state.raw<Graph>(this.text.graph);
  /** What the hub has; nothing for a workflow that it does not know yet. */
  saved = $state<string | null>(null);
  version = $state<number | null>(null);
  versions = $state.raw<WorkflowVersion[]>([]);
  inputs = $state.raw<WorkflowInput[]>([]);
  /** What the hub found in the text, and whether that is still about this text. */
  found = $state.raw<Problem[]>([]);
  isChecking = $state(false);
  checkFailed = $state('');
  /** Keys of what is chosen on the canvas. */
  nodes = $state.raw<string[]>([]);
  edges = $state.raw<string[]>([]);
  /** Keys that the canvas is to choose next, once they are there. */
  wanted = $state.raw<{ nodes: string[]; edges: string[] } | null>(null);
  moved = $state.raw(new Map<string, Point>());
  canUndo = $state(false);
  canRedo = $state(false);
  /** Whether what is shown was found in the browser, from a visit before. */
  isRestored = $state(false);

  isClosed = false;

  #history = new History(this.text);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #check: AbortController | undefined;
  #auto = { shape: '', places: new Map<string, Point>() };

  constructor(readonly name: string | null) {}

  get isDirty(): boolean {
    return this.text.source !== (this.saved ?? BLANK);
  }

  /** Everything wrong with the text. What the browser cannot read it need not ask about. */
  get problems(): Problem[] {
    return this.text.problems.length > 0 ? this.text.problems : this.found;
  }

  get errors(): Problem[] {
    return this.problems.filter((problem) => problem.severity === 'error');
  }

  /** Shows a workflow as the hub has it. */
  open(workflow: Workflow | null): void {
    this.accept(workflow);
    this.moved = places.load(this.name ?? '');
    const kept = recall(this.name);
    const source = kept ?? workflow?.source ?? BLANK;
    this.isRestored = kept !== null && kept !== (workflow?.source ?? BLANK);
    this.#show(WorkflowText.read(source));
    this.#history = new History(this.text);
    this.#mark();
  }

  /** Takes over what the hub now has. */
  accept(workflow: Workflow | null): void {
    this.saved = workflow?.source ?? null;
    this.version = workflow?.version ?? null;
    this.versions = workflow?.versions ?? [];
    this.inputs = workflow?.inputs ?? [];
  }

  /** Types over the whole text. */
  write(source: string, tag = 'code'): void {
    if (source === this.text.source) return;
    this.#commit(WorkflowText.read(source), tag);
  }

  /** Changes something on the canvas. Steps with the same tag in quick succession are one. */
  edit(change: (draft: Draft) => void, tag = ''): void {
    const next = this.text.edit(change);
    if (next !== this.text) this.#commit(next, tag);
  }

  setConfig(index: number, path: (string | number)[], value: Json | undefined): void {
    const at = ['nodes', index, 'config', ...path];
    this.edit((draft) => draft.set(at, value), at.join('/'));
  }

  /** Adds a node, where somebody let it fall. */
  add(type: string, wish: string, config: Record<string, Json>, at: Point | null): void {
    const full = { ...starter(type), ...config };
    let id = '';
    this.edit((draft) => {
      id = draft.addNode({ id: wish, type, config: full });
    });
    if (id === '') return;
    if (at) this.move(new Map([[id, at]]));
    this.pick([id]);
  }

  /** Leads from one node to another; back to where it came from, that is a loop. */
  connect(from: string, to: string): void {
    const isKnown = this.graph.edges.some((edge) => edge.from === from && edge.to === to);
    if (isKnown) return;
    const isBack = from === to || reachable(this.graph, to).has(from);
    this.edit((draft) =>
      draft.addEdge(isBack ? { from, to, loop: { max_iterations: 3 } } : { from, to }),
    );
  }

  remove(nodes: string[], edges: string[]): void {
    const { graph } = this;
    const gone = graph.nodes.filter((node) => nodes.includes(node.key)).map((node) => node.index);
    const cut = graph.edges.filter((edge) => edges.includes(edge.key)).map((edge) => edge.index);
    this.edit((draft) => {
      draft.removeEdges(cut);
      draft.removeNodes(gone);
    });
  }

  rename(index: number, id: string): void {
    const old = this.graph.nodes[index]?.key;
    if (old === undefined) return;
    const place = this.moved.get(old);
    this.edit((draft) => draft.renameNode(index, id), `rename/${index}`);
    if (place) this.move(new Map([[id, place]]));
    this.pick([this.graph.nodes[index]?.key ?? id]);
  }

  /** Chooses something on the canvas. */
  pick(nodes: string[], edges: string[] = []): void {
    this.wanted = { nodes, edges };
  }

  copy(): string {
    return toClip(this.graph, new Set(this.nodes));
  }

  paste(clip: string): void {
    let names: string[] = [];
    this.edit((draft) => {
      names = paste(draft, clip);
    });
    if (names.length > 0) this.pick(names);
  }

  undo(): void {
    this.#show(this.#history.undo());
    this.#mark();
  }

  redo(): void {
    this.#show(this.#history.redo());
    this.#mark();
  }

  /** Where every node stands. */
  places(): Map<string, Point> {
    const { graph } = this;
    const shape = `${graph.nodes.map((node) => node.key).join()}|${graph.edges
      .map((edge) => `${edge.from}>${edge.to}:${edgeWords(edge).length}`)
      .join()}`;
    if (shape !== this.#auto.shape) this.#auto = { shape, places: layout(graph) };
    return new Map([...this.#auto.places].map(([key, at]) => [key, this.moved.get(key) ?? at]));
  }

  /** Keeps where somebody put nodes. */
  move(to: Map<string, Point>): void {
    this.moved = new Map([...this.moved, ...to]);
    const known = new Set(this.graph.nodes.map((node) => node.key));
    places.save(this.name ?? '', new Map([...this.moved].filter(([key]) => known.has(key))));
  }

  /** Lets the computer place everything again. */
  tidy(): void {
    this.moved = new Map();
    places.save(this.name ?? '', this.moved);
  }

  /** Goes back to what the hub has; that can be undone, too. */
  discard(): void {
    this.write(this.saved ?? BLANK, '');
    this.isRestored = false;
  }

  async save(): Promise<Workflow> {
    const name = this.name ?? this.graph.name;
    const workflow = await workflows.save(name, this.text.source, this.version);
    this.accept(workflow);
    this.isRestored = false;
    forget(this.name);
    if (this.name === null) places.save(name, this.moved);
    return workflow;
  }

  /** Stops asking the hub. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.#timer);
    this.#check?.abort();
  }

  #commit(text: WorkflowText, tag: string): void {
    this.#history.push(text, tag, Date.now());
    this.#show(text);
    this.#mark();
    if (this.isDirty) keep(this.name, text.source);
    else forget(this.name);
  }

  #mark(): void {
    this.canUndo = this.#history.canUndo;
    this.canRedo = this.#history.canRedo;
  }

  #show(text: WorkflowText): void {
    this.text = text;
    if (text.problems.length === 0) this.graph = text.graph;
    clearTimeout(this.#timer);
    this.#check?.abort();
    this.isChecking = true;
    this.#timer = setTimeout(() => void this.#ask(text), CHECK_AFTER);
  }

  async #ask(text: WorkflowText): Promise<void> {
    const check = new AbortController();
    this.#check = check;
    try {
      const answer = await workflows.validate(text.source, check.signal);
      if (check.signal.aborted) return;
      this.found = answer.problems;
      this.inputs = answer.inputs;
      this.checkFailed = '';
    } catch (error) {
      if (check.signal.aborted) return;
      this.checkFailed = Refusal.of(error).message;
    }
    this.isChecking = false;
  }
}

/** Unsaved work outlives a reload of the page, not the browser. */
function keep(name: string | null, source: string): void {
  try {
    sessionStorage.setItem(DRAFT + (name ?? ''), source);
  } catch {
    // Too large or forbidden: then it lives as long as the page.
  }
}

function recall(name: string | null): string | null {
  try {
    return sessionStorage.getItem(DRAFT + (name ?? ''));
  } catch {
    return null;
  }
}

function forget(name: string | null): void {
  try {
    sessionStorage.removeItem(DRAFT + (name ?? ''));
  } catch {
    // Nothing was kept, then.
  }
}
