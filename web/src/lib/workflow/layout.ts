/** Where nodes stand: laid out from left to right, unless somebody has moved them. */

import { arrange, type Spot } from './arrange';
import type { Graph, GraphEdge } from './graph';
import { edgeWords } from './summary';

export interface Point {
  x: number;
  y: number;
}

export const NODE_WIDTH = 184;
export const NODE_HEIGHT = 68;

/** The room between two columns, at least. */
const BETWEEN = 52;

/** A place for every node, by key. */
export function layout(
  graph: Pick<Graph, 'nodes' | 'edges'>,
  height = NODE_HEIGHT,
): Map<string, Point> {
  const ways = graph.edges.filter((edge) => !edge.loop);
  const spots = arrange(
    graph.nodes.map(({ key }) => ({ key, height })),
    ways,
  );
  const lefts = columns(spots, ways);
  const top = Math.min(...[...spots.values()].map(({ y }) => y));
  return new Map(
    [...spots].map(([key, { column, y }]) => [
      key,
      { x: lefts[column] ?? 0, y: Math.round(y - top) },
    ]),
  );
}

/** Where columns begin: there is room for the words of edges between them. */
function columns(spots: Map<string, Spot>, ways: GraphEdge[]): number[] {
  const count = Math.max(0, ...[...spots.values()].map(({ column }) => column + 1));
  const room = new Array<number>(count).fill(BETWEEN);
  for (const edge of ways) {
    const [from, to] = [spots.get(edge.from), spots.get(edge.to)];
    const words = edgeWords(edge);
    // An edge that goes further has room enough.
    if (words === '' || !from || to?.column !== from.column + 1) continue;
    const needed = Math.min(150, words.length * 6 + 20) + 40;
    room[from.column] = Math.max(room[from.column] ?? 0, needed);
  }
  let left = 0;
  return room.map((width) => {
    const here = left;
    left += NODE_WIDTH + width;
    return here;
  });
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
