/** Where nodes stand: laid out from left to right, unless somebody has moved them. */

import { Graph as LayoutGraph, layout as arrange } from '@dagrejs/dagre';

import type { Graph, GraphEdge } from './graph';
import { edgeWords } from './summary';

export interface Point {
  x: number;
  y: number;
}

export const NODE_WIDTH = 184;
export const NODE_HEIGHT = 68;

/** Beyond this the thorough way of ranking takes longer than anybody likes to wait. */
const THOROUGH = 150;
/** Beyond this even the quick way does. */
const LAYERED = 800;

/** A place for every node, by key. */
export function layout(
  graph: Pick<Graph, 'nodes' | 'edges'>,
  height = NODE_HEIGHT,
): Map<string, Point> {
  if (graph.nodes.length > LAYERED) return layers(graph, height);
  const sheet = new LayoutGraph();
  sheet.setGraph({
    rankdir: 'LR',
    nodesep: 28,
    ranksep: 52,
    ranker: graph.nodes.length > THOROUGH ? 'longest-path' : 'network-simplex',
  });
  sheet.setDefaultEdgeLabel(() => ({}));
  for (const node of graph.nodes) sheet.setNode(node.key, { width: NODE_WIDTH, height });
  for (const edge of graph.edges) {
    if (edge.loop || !sheet.hasNode(edge.from) || !sheet.hasNode(edge.to)) continue;
    sheet.setEdge(edge.from, edge.to, room(edge));
  }
  arrange(sheet);
  return new Map(
    graph.nodes.map((node) => {
      const { x, y } = sheet.node(node.key) as Point;
      return [node.key, { x: Math.round(x - NODE_WIDTH / 2), y: Math.round(y - height / 2) }];
    }),
  );
}

/** The room that the words of an edge take. */
function room(edge: GraphEdge): Record<string, number | string> {
  const words = edgeWords(edge);
  if (words === '') return {};
  return { width: Math.min(150, words.length * 6 + 20), height: 20, labelpos: 'c' };
}

/** Columns by the longest way to each node, in the order of the file. */
function layers(graph: Pick<Graph, 'nodes' | 'edges'>, height: number): Map<string, Point> {
  const next = new Map<string, string[]>(graph.nodes.map((node) => [node.key, []]));
  const waits = new Map<string, number>(graph.nodes.map((node) => [node.key, 0]));
  for (const edge of graph.edges) {
    const from = next.get(edge.from);
    const open = waits.get(edge.to);
    if (edge.loop || !from || open === undefined) continue;
    from.push(edge.to);
    waits.set(edge.to, open + 1);
  }
  const column = new Map<string, number>();
  const ready = graph.nodes.filter((node) => waits.get(node.key) === 0).map((node) => node.key);
  for (let key = ready.shift(); key !== undefined; key = ready.shift()) {
    const here = column.get(key) ?? 0;
    column.set(key, here);
    for (const to of next.get(key) ?? []) {
      column.set(to, Math.max(column.get(to) ?? 0, here + 1));
      const open = (waits.get(to) ?? 1) - 1;
      waits.set(to, open);
      if (open === 0) ready.push(to);
    }
  }
  const filled = new Map<number, number>();
  return new Map(
    graph.nodes.map((node) => {
      const x = column.get(node.key) ?? 0;
      const y = filled.get(x) ?? 0;
      filled.set(x, y + 1);
      return [node.key, { x: x * (NODE_WIDTH + 52), y: y * (height + 28) }];
    }),
  );
}

const STORE = 'nuncio.workflow.places.';

/** Places that people chose, kept in the browser: they are no part of the file. */
export const places = {
  load(workflow: string): Map<string, Point> {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(STORE + workflow) ?? '{}');
      const entries = Object.entries(kept as Record<string, unknown>);
      return new Map(entries.filter((entry): entry is [string, Point] => isPoint(entry[1])));
    } catch {
      return new Map();
    }
  },
  save(workflow: string, moved: Map<string, Point>): void {
    try {
      if (moved.size === 0) localStorage.removeItem(STORE + workflow);
      else localStorage.setItem(STORE + workflow, JSON.stringify(Object.fromEntries(moved)));
    } catch {
      // A full or forbidden store only means that the layout is automatic next time.
    }
  },
};

function isPoint(value: unknown): value is Point {
  const point = value as Point | null;
  return (
    typeof point === 'object' &&
    point !== null &&
    Number.isFinite(point.x) &&
    Number.isFinite(point.y)
  );
}
