/**
 * The file of a workflow as a text that people write and the canvas edits.
 *
 * Invariant: an edit changes the lines that it is about and no others. The tree is edited with
 * its comments, and the change is then carried over to the text as its author wrote it.
 */

import {
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  Scalar,
  YAMLMap,
  YAMLSeq,
  type Node,
  type ToStringOptions,
} from 'yaml';

import { EMPTY, readGraph, type Graph } from './graph';
import { carryBlocks } from './blocks';
import { carry } from './lines';
import { mapCondition, mapTemplate } from './references';
import type { Json, Problem } from './types';

export type Path = (string | number)[];

/** The largest file that the hub takes. */
export const MAX_BYTES = 1024 * 1024;

/** A node or an edge as somebody hands it over, to be written into a file. */
export interface NewNode {
  id: string;
  type: string;
  config?: Record<string, Json>;
  group?: string | null;
}
export interface NewEdge {
  from: string;
  to: string;
  trigger_rule?: string;
  condition?: string;
  loop?: Record<string, Json>;
}

/** A text and what it says. Does not change: an edit gives another one. */
export class WorkflowText {
  /** The tree and how it is written, until an edit takes them along. */
  #tree: { doc: Document; rendered: string | null } | null;

  private constructor(
    readonly source: string,
    /** What it describes; nothing if it cannot be read. */
    readonly graph: Graph,
    /** Why it cannot be read. */
    readonly problems: Problem[],
    tree: { doc: Document; rendered: string | null } | null,
  ) {
    this.#tree = tree;
  }

  static read(source: string): WorkflowText {
    const doc = parse(source);
    const problems = doc.errors.map((error) => {
      const place = error.linePos?.[0];
      const message = error.message.split('\n')[0] ?? error.message;
      return problem('syntax', message, place?.line ?? 0, place?.col ?? 0);
    });
    if (problems.length > 0) return new WorkflowText(source, EMPTY, problems, null);
    try {
      const graph = readGraph(doc.toJS());
      return new WorkflowText(source, graph, [], { doc, rendered: null });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return new WorkflowText(source, EMPTY, [problem('too-large', message, 0, 0)], null);
    }
  }

  /** The text after `change`; itself if it cannot be read, or nothing changes. */
  edit(change: (draft: Draft) => void): WorkflowText {
    if (this.problems.length > 0) return this;
    const doc = this.#tree?.doc ?? parse(this.source);
    const render = renderer(this.source);
    const before = this.#tree?.rendered ?? render(doc);
    // From here on the tree is no longer this text's.
    this.#tree = null;
    change(new Draft(doc));
    const after = render(doc);
    if (before === after) {
      this.#tree = { doc, rendered: before };
      return this;
    }
    const value: unknown = doc.toJS();
    // The finest way that says what is meant; the last one always does.
    const ways = [
      () => carryBlocks(before, this.source, after, true),
      () => carryBlocks(before, this.source, after, false),
      () => carry(before, this.source, after),
    ];
    let source = after;
    if (this.source !== before) {
      for (const way of ways) {
        const text = way();
        if (text !== null && says(text, value)) {
          source = text;
          break;
        }
      }
    }
    return new WorkflowText(source, readGraph(value), [], { doc, rendered: after });
  }
}

function problem(code: string, message: string, line: number, column: number): Problem {
  return { code, message, severity: 'error', line, column, fix: '' };
}

/** The line at which each node begins, from 1, by its place in the list. */
export function nodeLines(source: string): number[] {
  const nodes = parse(source).get('nodes');
  if (!isSeq(nodes)) return [];
  const lines: number[] = [];
  let offset = 0;
  let line = 1;
  for (const item of nodes.items) {
    const start = (item as Node).range?.[0] ?? offset;
    for (; offset < start; offset++) if (source.charCodeAt(offset) === 10) line++;
    lines.push(line);
  }
  return lines;
}

function parse(source: string): Document.Parsed {
  return parseDocument(source, {
    merge: true,
    prettyErrors: true,
    logLevel: 'silent',
  }) as Document.Parsed;
}

/** Whether a text says this value. */
function says(source: string, value: unknown): boolean {
  const doc = parse(source);
  return doc.errors.length === 0 && JSON.stringify(doc.toJS()) === JSON.stringify(value);
}

/** Writes a document in the manner of the text that it came from. */
function renderer(source: string): (doc: Document) => string {
  const trimmed = source.trimStart();
  if (trimmed.startsWith('{') && isJson(source)) {
    const indent = /\n([ \t]+)\S/.exec(source)?.[1] ?? '  ';
    return (doc) => `${JSON.stringify(doc.toJS(), null, indent)}\n`;
  }
  const options: ToStringOptions = {
    lineWidth: 0,
    flowCollectionPadding: !/[[{]\S/.test(source.replace(/\{\{|\}\}/g, '')),
    indentSeq: !/^\w[^\n]*:[ \t]*\n-/m.test(source),
  };
  return (doc) => doc.toString(options);
}

function isJson(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

/** A document while it is changed. */
export class Draft {
  constructor(private readonly doc: Document) {}

  get graph(): Graph {
    return readGraph(this.doc.toJS());
  }

  /** Sets or, with `undefined`, removes a member of the file itself. */
  set(path: Path, value: Json | undefined): void {
    if (value === undefined) this.remove(path);
    else this.put(path, value);
  }

  /** Adds a node under a name that is not taken, and returns that name. */
  addNode(node: NewNode): string {
    const id = freshId(this.graph, node.id);
    const entry: Record<string, Json> = { id, type: node.type };
    if (node.config && Object.keys(node.config).length > 0) entry.config = node.config;
    if (node.group) entry.group = node.group;
    this.append('nodes', entry, false);
    return id;
  }

  addEdge(edge: NewEdge): void {
    const entry: Record<string, Json> = { from: edge.from, to: edge.to };
    if (edge.trigger_rule && edge.trigger_rule !== 'on_success') {
      entry.trigger_rule = edge.trigger_rule;
    }
    if (edge.condition) entry.condition = edge.condition;
    if (edge.loop) entry.loop = edge.loop;
    this.append('edges', entry, true);
  }

  /** Removes nodes, and the edges that begin or end at them. */
  removeNodes(indexes: number[]): void {
    const { nodes, edges } = this.graph;
    const gone = new Set(indexes.map((index) => nodes[index]?.id));
    const kept = new Set(
      nodes.filter((node) => !indexes.includes(node.index)).map((node) => node.id),
    );
    const dead = edges.filter((edge) =>
      [edge.from, edge.to].some((id) => gone.has(id) && !kept.has(id)),
    );
    this.removeEdges(dead.map((edge) => edge.index));
    for (const index of descending(indexes)) this.remove(['nodes', index]);
  }

  removeEdges(indexes: number[]): void {
    for (const index of descending(indexes)) this.remove(['edges', index]);
  }

  /** Gives a node another name, in edges, templates and conditions too. */
  renameNode(index: number, id: string): void {
    const graph = this.graph;
    const old = graph.nodes[index]?.id;
    if (old === undefined || old === id) return;
    this.put(['nodes', index, 'id'], id);
    const twin = graph.nodes.some((node) => node.index !== index && node.id === old);
    if (old === '' || twin) return;
    const rename = (name: string) => (name === old ? id : name);
    for (const node of graph.nodes) {
      this.mapTexts(['nodes', node.index, 'config'], node.config, (text, path) =>
        path[3] === 'gather' ? rename(text) : mapTemplate(text, rename),
      );
    }
    for (const edge of graph.edges) {
      const at: Path = ['edges', edge.index];
      if (edge.from === old) this.put([...at, 'from'], id);
      if (edge.to === old) this.put([...at, 'to'], id);
      if (edge.condition) this.putIfNew([...at, 'condition'], edge.condition, rename);
      const exit = edge.loop?.exit_when;
      if (exit) this.putIfNew([...at, 'loop', 'exit_when'], exit, rename);
    }
  }

  private putIfNew(path: Path, text: string, rename: (name: string) => string): void {
    const renamed = mapCondition(text, rename);
    if (renamed !== text) this.put(path, renamed);
  }

  private mapTexts(path: Path, value: Json, change: (text: string, path: Path) => string): void {
    if (typeof value === 'string') {
      const changed = change(value, path);
      if (changed !== value) this.put(path, changed);
    } else if (Array.isArray(value)) {
      value.forEach((item, index) => this.mapTexts([...path, index], item, change));
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) this.mapTexts([...path, key], item, change);
    }
  }

  private append(list: 'nodes' | 'edges', entry: Record<string, Json>, flow: boolean): void {
    const root = this.root();
    let items = root.get(list, true) as unknown;
    if (!isSeq(items)) {
      items = new YAMLSeq();
      root.set(list, items);
    }
    const seq = items as YAMLSeq;
    // An empty list is written `[]`, which would draw everything into one line.
    if (seq.items.length === 0) seq.flow = false;
    const last = seq.items[seq.items.length - 1];
    const node = this.doc.createNode(entry) as YAMLMap;
    if (isMap(last) ? last.flow : flow) node.flow = true;
    seq.items.push(node);
  }

  private remove(path: Path): void {
    const parent = this.parent(path, false);
    if (!parent) return;
    parent.delete(path[path.length - 1]);
    // `config: {}` says nothing.
    if (parent.items.length === 0 && isMap(parent) && path.length > 1) {
      if (typeof path[path.length - 2] === 'string') this.remove(path.slice(0, -1));
    }
  }

  private put(path: Path, value: Json): void {
    const parent = this.parent(path, true);
    if (!parent) return;
    const key = path[path.length - 1];
    const old = parent.get(key, true) as unknown;
    const fresh = this.doc.createNode(value) as Node;
    if (isScalar(old) && isScalar(fresh)) keepManner(old, fresh);
    else if (isMap(fresh) && typeof key === 'string' && !['config', 'do'].includes(key)) {
      fresh.flow = isFlat(value);
    }
    parent.set(key, fresh);
  }

  /** The collection that holds the last step of a path; made on the way if asked to. */
  private parent(path: Path, make: boolean): YAMLMap | YAMLSeq | null {
    let here: YAMLMap | YAMLSeq = this.root();
    for (const step of path.slice(0, -1)) {
      let next = here.get(step, true) as unknown;
      // What an alias stands for belongs to somebody else: edits go to a copy.
      if (isAlias(next)) {
        const source = next.resolve(this.doc);
        next = source?.clone();
        if (!isMap(next) && !isSeq(next)) return null;
        delete (next as YAMLMap).anchor;
        here.set(step, next);
      }
      if (!isMap(next) && !isSeq(next)) {
        if (!make) return null;
        next = new YAMLMap();
        here.set(step, next);
      }
      here = next as YAMLMap | YAMLSeq;
    }
    return here;
  }

  private root(): YAMLMap {
    if (!isMap(this.doc.contents)) this.doc.contents = new YAMLMap() as never;
    return this.doc.contents as unknown as YAMLMap;
  }
}

/** A scalar that replaces another looks like it, as far as it can. */
function keepManner(old: Scalar, fresh: Scalar): void {
  fresh.comment = old.comment;
  fresh.commentBefore = old.commentBefore;
  fresh.spaceBefore = old.spaceBefore;
  if (old.anchor) fresh.anchor = old.anchor;
  if (typeof old.value !== 'string' || typeof fresh.value !== 'string') return;
  const isBlock = old.type === 'BLOCK_LITERAL' || old.type === 'BLOCK_FOLDED';
  if (isBlock || !fresh.value.includes('\n')) fresh.type = old.type;
}

function isFlat(value: Json): boolean {
  return (
    value !== null &&
    typeof value === 'object' &&
    Object.values(value).every((item) => item === null || typeof item !== 'object')
  );
}

function descending(indexes: number[]): number[] {
  return [...new Set(indexes)].sort((a, b) => b - a);
}

/** A name like the wished one that no node has and that the format allows. */
export function freshId(graph: Graph, wish: string): string {
  const base =
    wish
      .replace(/[^A-Za-z0-9_-]+/g, '_')
      .replace(/^[_-]+/, '')
      .slice(0, 56) || 'node';
  const taken = new Set(graph.nodes.map((node) => node.id));
  if (!taken.has(base)) return base;
  for (let number = 2; ; number++) {
    if (!taken.has(`${base}_${number}`)) return `${base}_${number}`;
  }
}
