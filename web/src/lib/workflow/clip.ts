/** Nodes on their way through the clipboard: as YAML, so that they can be pasted into files too. */

import { parse, stringify } from 'yaml';

import type { Draft, NewEdge, NewNode } from './document';
import { isRecord, readGraph, type Graph, type GraphEdge, type GraphNode } from './graph';
import { mapCondition, mapTemplate } from './references';
import type { Json } from './types';

/** The largest piece that is taken from a clipboard. */
const MAX_CHARS = 256 * 1024;

/** Writes nodes and the edges between them. */
export function toClip(graph: Graph, keys: Set<string>): string {
  const nodes = graph.nodes.filter((node) => keys.has(node.key));
  if (nodes.length === 0) return '';
  const edges = graph.edges.filter((edge) => keys.has(edge.from) && keys.has(edge.to));
  const piece = { nodes: nodes.map(asNode), edges: edges.map(asEdge) };
  return stringify(piece, { lineWidth: 0 });
}

/** Adds what a clipboard holds, under names that are free. Returns those names. */
export function paste(draft: Draft, clip: string): string[] {
  if (clip.length > MAX_CHARS) return [];
  let value: unknown;
  try {
    value = parse(clip, { maxAliasCount: 20 });
  } catch {
    return [];
  }
  if (!isRecord(value) || !Array.isArray(value.nodes)) return [];
  const piece = readGraph(value);
  const nodes = piece.nodes.filter((node) => node.id !== '' && node.type !== '');
  const names = new Map<string, string>();
  const added = nodes.map((node) => {
    const id = draft.addNode(asNode(node));
    names.set(node.id, id);
    return id;
  });
  const rename = (name: string) => names.get(name) ?? name;
  const { nodes: all } = draft.graph;
  for (const [index, node] of nodes.entries()) {
    const place = all.find((known) => known.id === added[index])?.index;
    const config = mapTexts(node.config, (text) => mapTemplate(text, rename));
    if (place !== undefined && JSON.stringify(config) !== JSON.stringify(node.config)) {
      draft.set(['nodes', place, 'config'], config);
    }
  }
  for (const edge of piece.edges) {
    const [from, to] = [names.get(edge.from), names.get(edge.to)];
    if (!from || !to) continue;
    const copy = asEdge(edge);
    if (copy.condition) copy.condition = mapCondition(copy.condition, rename);
    const exit = edge.loop?.exit_when;
    if (copy.loop && exit) copy.loop.exit_when = mapCondition(exit, rename);
    draft.addEdge({ ...copy, from, to });
  }
  return added;
}

function asNode(node: GraphNode): NewNode {
  const copy: NewNode = { id: node.id, type: node.type };
  if (Object.keys(node.config).length > 0) copy.config = node.config;
  if (node.group) copy.group = node.group;
  return copy;
}

function asEdge(edge: GraphEdge): NewEdge {
  const copy: NewEdge = { from: edge.from, to: edge.to };
  if (edge.trigger !== 'on_success') copy.trigger_rule = edge.trigger;
  if (edge.condition) copy.condition = edge.condition;
  if (edge.loop) {
    copy.loop = {};
    if (edge.loop.max_iterations !== null) copy.loop.max_iterations = edge.loop.max_iterations;
    if (edge.loop.exit_when) copy.loop.exit_when = edge.loop.exit_when;
  }
  return copy;
}

function mapTexts<T extends Json>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change)) as T;
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]);
    return Object.fromEntries(entries) as T;
  }
  return value;
}
