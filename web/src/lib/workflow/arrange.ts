/**
 * Places a graph in columns, from left to right, after Sugiyama: every node in the column behind
 * its last predecessor, columns ordered so that few edges cross, heights chosen so that edges run
 * straight. Long edges take room in the columns that they pass.
 */

export interface Box {
  key: string;
  height: number;
}

export interface Way {
  from: string;
  to: string;
}

/** Where a box came to stand: its column, and the middle of its height. */
export interface Spot {
  column: number;
  y: number;
}

interface Cell {
  column: number;
  height: number;
  before: Cell[];
  after: Cell[];
  y: number;
  /** Its place in the column. */
  at: number;
}

/** The room between two boxes of a column. */
const GAP = 28;
/** The height that an edge takes where it passes. */
const PASSING = 12;
/** Beyond this edges take no room: there would be more of them than of boxes. */
const MOST_PASSING = 4000;
const ORDERINGS = 8;
const STRAIGHTENINGS = 12;

export function arrange(boxes: Box[], ways: Way[]): Map<string, Spot> {
  const { columns, kept } = rank(boxes, ways);
  const cells = new Map(
    boxes.map(({ key, height }) => [key, cell(columns.get(key) ?? 0, height)] as const),
  );
  const all = [...cells.values()];
  all.push(...connect(cells, kept));
  const layers: Cell[][] = [];
  for (const one of all) (layers[one.column] ??= []).push(one);
  order(layers);
  straighten(layers);
  return new Map([...cells].map(([key, { column, y }]) => [key, { column, y }]));
}

function cell(column: number, height: number): Cell {
  return { column, height, before: [], after: [], y: 0, at: 0 };
}

/** Gives every box a column. Edges that close a circle are left out. */
function rank(boxes: Box[], ways: Way[]): { columns: Map<string, number>; kept: Way[] } {
  const next = new Map<string, string[]>(boxes.map(({ key }) => [key, []]));
  const waits = new Map<string, number>(boxes.map(({ key }) => [key, 0]));
  const known = ways.filter(({ from, to }) => from !== to && next.has(from) && next.has(to));
  for (const { from, to } of known) {
    next.get(from)?.push(to);
    waits.set(to, (waits.get(to) ?? 0) + 1);
  }
  const taken = new Map<string, number>();
  const ready = boxes.filter(({ key }) => waits.get(key) === 0).map(({ key }) => key);
  let rest = 0;
  while (taken.size < boxes.length) {
    let key = ready.shift();
    if (key === undefined) {
      // A circle: it is cut at the box that stands first in the file.
      while (taken.has(boxes[rest]?.key ?? '')) rest += 1;
      key = boxes[rest]?.key ?? '';
    }
    if (taken.has(key)) continue;
    taken.set(key, taken.size);
    for (const to of next.get(key) ?? []) {
      const open = (waits.get(to) ?? 1) - 1;
      waits.set(to, open);
      if (open === 0) ready.push(to);
    }
  }
  const turn = (key: string): number => taken.get(key) ?? 0;
  const kept = known.filter(({ from, to }) => turn(from) < turn(to));
  kept.sort((a, b) => turn(a.from) - turn(b.from));
  const columns = new Map<string, number>(boxes.map(({ key }) => [key, 0]));
  for (const { from, to } of kept) {
    columns.set(to, Math.max(columns.get(to) ?? 0, (columns.get(from) ?? 0) + 1));
  }
  // What nothing leads to stands right before what it leads to, not at the far left.
  const entered = new Set(kept.map(({ to }) => to));
  const nearest = new Map<string, number>();
  for (const { from, to } of kept) {
    const column = (columns.get(to) ?? 1) - 1;
    if (!entered.has(from)) nearest.set(from, Math.min(nearest.get(from) ?? column, column));
  }
  for (const [key, column] of nearest) columns.set(key, column);
  return { columns, kept };
}

/** Joins neighbours; returns the cells in which long edges pass. */
function connect(cells: Map<string, Cell>, ways: Way[]): Cell[] {
  const ends = ways.flatMap(({ from, to }) => {
    const [start, end] = [cells.get(from), cells.get(to)];
    return start && end ? [[start, end] as const] : [];
  });
  const needed = ends.reduce((sum, [start, end]) => sum + end.column - start.column - 1, 0);
  const passing: Cell[] = [];
  for (const [start, end] of ends) {
    let last = start;
    if (needed <= MOST_PASSING) {
      for (let column = start.column + 1; column < end.column; column += 1) {
        const next = cell(column, PASSING);
        passing.push(next);
        join(last, next);
        last = next;
      }
    }
    join(last, end);
  }
  return passing;
}

function join(from: Cell, to: Cell): void {
  from.after.push(to);
  to.before.push(from);
}

/** Sorts columns by the places of their neighbours, to and fro, and keeps the best of it. */
function order(layers: Cell[][]): void {
  const number = (layer: Cell[]): void => layer.forEach((one, index) => (one.at = index));
  layers.forEach(number);
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  for (let round = 0; round < ORDERINGS && fewest > 0; round += 1) {
    const isForth = round % 2 === 0;
    for (const layer of isForth ? layers : layers.toReversed()) {
      const wish = new Map(
        layer.map((one) => [one, mean(isForth ? one.before : one.after, (cell) => cell.at)]),
      );
      layer.sort((a, b) => (wish.get(a) ?? a.at) - (wish.get(b) ?? b.at) || a.at - b.at);
      number(layer);
    }
    const found = crossings(layers);
    if (found < fewest) {
      fewest = found;
      best = layers.map((layer) => [...layer]);
    }
  }
  best.forEach((layer, index) => {
    layers[index] = layer;
    number(layer);
  });
}

function crossings(layers: Cell[][]): number {
  let found = 0;
  for (const layer of layers) {
    const ends: number[] = [];
    for (const one of layer) {
      const places = one.after.map((next) => next.at).sort((a, b) => a - b);
      for (const place of places) found += ends.length - after(ends, place);
      for (const place of places) ends.splice(after(ends, place), 0, place);
    }
  }
  return found;
}

/** How many of a sorted list are at most this. */
function after(sorted: number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function mean(cells: Cell[], of: (cell: Cell) => number): number | undefined {
  if (cells.length === 0) return undefined;
  return cells.reduce((sum, one) => sum + of(one), 0) / cells.length;
}

/** Moves every cell towards its neighbours, without changing the order of a column. */
function straighten(layers: Cell[][]): void {
  for (const layer of layers) {
    const height = layer.reduce((sum, one) => sum + one.height + GAP, -GAP);
    let top = -height / 2;
    for (const one of layer) {
      one.y = top + one.height / 2;
      top += one.height + GAP;
    }
  }
  for (let round = 0; round < STRAIGHTENINGS; round += 1) {
    const isForth = round % 2 === 0;
    const isLast = round >= STRAIGHTENINGS - 2;
    for (const layer of isForth ? layers : layers.toReversed()) {
      const wishes = layer.map((one) => {
        const near = isLast ? [...one.before, ...one.after] : isForth ? one.before : one.after;
        return mean(near, (cell) => cell.y) ?? one.y;
      });
      settle(layer, wishes);
    }
  }
}

/**
 * Gives the cells of a column the heights nearest to what they wish for that keep them apart:
 * neighbours that wish to be closer than they may are moved as one block.
 */
function settle(layer: Cell[], wishes: number[]): void {
  const blocks: { sum: number; size: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  layer.forEach((one, index) => {
    const last = layer[index - 1];
    if (last) offset += (last.height + one.height) / 2 + GAP;
    offsets.push(offset);
    let block = { sum: (wishes[index] ?? 0) - offset, size: 1 };
    for (let before = blocks.at(-1); before; before = blocks.at(-1)) {
      if (before.sum / before.size <= block.sum / block.size) break;
      blocks.pop();
      block = { sum: before.sum + block.sum, size: before.size + block.size };
    }
    blocks.push(block);
  });
  let index = 0;
  for (const { sum, size } of blocks) {
    for (const end = index + size; index < end; index += 1) {
      const one = layer[index];
      if (one) one.y = sum / size + (offsets[index] ?? 0);
    }
  }
}
