/** The graph that a file describes, read with forgiveness: half-typed files have a picture too. */

import type { Json } from './types';

export type Trigger = 'on_success' | 'on_failure' | 'always';

export interface GraphNode {
  /** Its name in the file; may be empty or stand twice while somebody types. */
  id: string;
  /** Names it on the canvas: the id, made unique. */
  key: string;
  /** Where it stands in the list of the file. */
  index: number;
  type: string;
  config: Record<string, Json>;
  group: string | null;
}

export interface GraphEdge {
  /** Names it on the canvas. */
  key: string;
  index: number;
  from: string;
  to: string;
  trigger: Trigger;
  condition: string | null;
  loop: { max_iterations: number | null; exit_when: string | null } | null;
}

export interface GraphGroup {
  id: string;
  label: string | null;
  color: string | null;
}

export interface Graph {
  name: string;
  description: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  groups: GraphGroup[];
  /** What the file has beside them, such as `timeout`. */
  file: Record<string, Json>;
}

export const EMPTY: Graph = {
  name: '',
  description: '',
  nodes: [],
  edges: [],
  groups: [],
  file: {},
};

/** Reads what can be read of a file that was parsed. */
export function readGraph(value: unknown): Graph {
  if (!isRecord(value)) return EMPTY;
  const seen = new Set<string>();
  const nodes = list(value.nodes).map((entry, index): GraphNode => {
    const node = isRecord(entry) ? entry : {};
    const id = text(node.id);
    const key = id && !seen.has(id) ? id : `${id}#${index}`;
    seen.add(key);
    return {
      id,
      key,
      index,
      type: text(node.type),
      config: isRecord(node.config) ? (node.config as Record<string, Json>) : {},
      group: text(node.group) || null,
    };
  });
  const edges = list(value.edges).map((entry, index): GraphEdge => {
    const edge = isRecord(entry) ? entry : {};
    const rule = text(edge.trigger_rule);
    return {
      key: `edge-${index}`,
      index,
      from: text(edge.from),
      to: text(edge.to),
      trigger: rule === 'on_failure' || rule === 'always' ? rule : 'on_success',
      condition: text(edge.condition) || null,
      loop: isRecord(edge.loop)
        ? {
            max_iterations:
              typeof edge.loop.max_iterations === 'number' ? edge.loop.max_iterations : null,
            exit_when: text(edge.loop.exit_when) || null,
          }
        : null,
    };
  });
  const groups = list(value.groups)
    .filter(isRecord)
    .map((group) => ({
      id: text(group.id),
      label: text(group.label) || null,
      color: text(group.color) || null,
    }));
  const beside = Object.entries(value).filter(
    ([key]) => !['nodes', 'edges', 'groups'].includes(key),
  );
  const file = Object.fromEntries(beside) as Record<string, Json>;
  const [name, description] = [text(value.name), text(value.description)];
  return { name, description, nodes, edges, groups, file };
}

/** The nodes that can be reached from one, itself left out unless a circle leads back. */
export function reachable(graph: Pick<Graph, 'edges'>, from: string): Set<string> {
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) {
    if (edge.loop) continue;
    const known = next.get(edge.from);
    if (known) known.push(edge.to);
    else next.set(edge.from, [edge.to]);
  }
  const seen = new Set<string>();
  const open = [...(next.get(from) ?? [])];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(next.get(id) ?? []));
  }
  return seen;
}

/** What a node may refer to: inputs, everything that leads here, and itself where it loops. */
export function visibleNames(graph: Graph, id: string): string[] {
  return graph.nodes
    .filter((node) => node.type === 'input' || node.id === id || reachable(graph, node.id).has(id))
    .map((node) => node.id)
    .filter((name) => name !== '' && name !== id);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
