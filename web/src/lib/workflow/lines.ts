/** Differences between texts, line by line, and changes carried from one text to another. */

/** Where lines `aStart..aEnd` of one text stand, the other has `bStart..bEnd`. */
export interface Hunk {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}

/** Beyond so many differing lines the middle is told as one change: nobody reads such a diff. */
const MAX_EDITS = 1000;

/** The hunks in which `b` differs from `a`, by Myers' greedy algorithm. */
export function diff(a: readonly string[], b: readonly string[]): Hunk[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  ) {
    tail++;
  }
  const n = a.length - head - tail;
  const m = b.length - head - tail;
  if (n === 0 && m === 0) return [];
  const whole = [{ aStart: head, aEnd: head + n, bStart: head, bEnd: head + m }];
  if (n === 0 || m === 0) return whole;
  const steps = shortestEdit(a, b, head, n, m);
  return steps ? toHunks(steps, head) : whole;
}

/** The pairs of equal lines on the shortest way, or nothing if that is too long. */
function shortestEdit(
  a: readonly string[],
  b: readonly string[],
  head: number,
  n: number,
  m: number,
): { matches: [number, number][]; n: number; m: number } | null {
  const limit = Math.min(n + m, MAX_EDITS);
  const reach = new Map<number, number>([[1, 0]]);
  const trail: Map<number, number>[] = [];
  for (let d = 0; d <= limit; d++) {
    trail.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1));
      let x = down ? at(reach, k + 1) : at(reach, k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && a[head + x] === b[head + y]) {
        x++;
        y++;
      }
      reach.set(k, x);
      if (x >= n && y >= m) return { matches: walkBack(trail, n, m), n, m };
    }
  }
  return null;
}

function at(reach: Map<number, number>, k: number): number {
  return reach.get(k) ?? -1;
}

function walkBack(trail: Map<number, number>[], n: number, m: number): [number, number][] {
  const matches: [number, number][] = [];
  let x = n;
  let y = m;
  for (let d = trail.length - 1; d >= 0; d--) {
    const reach = trail[d] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1));
    const before = down ? k + 1 : k - 1;
    const px = d === 0 ? 0 : at(reach, before);
    const py = d === 0 ? 0 : px - before;
    while (x > px && y > py) {
      x--;
      y--;
      matches.push([x, y]);
    }
    x = px;
    y = py;
  }
  return matches.reverse();
}

function toHunks(
  { matches, n, m }: { matches: [number, number][]; n: number; m: number },
  head: number,
): Hunk[] {
  const hunks: Hunk[] = [];
  let x = 0;
  let y = 0;
  for (const [mx, my] of [...matches, [n, m] as [number, number]]) {
    if (mx > x || my > y) {
      hunks.push({ aStart: head + x, aEnd: head + mx, bStart: head + y, bEnd: head + my });
    }
    x = mx + 1;
    y = my + 1;
  }
  return hunks;
}

/**
 * Makes the change from `base` to `changed` in `ours`, which says the same as `base` in other
 * words. Where both touch the same lines, the change wins.
 */
export function carry(base: string, ours: string, changed: string): string {
  if (base === ours) return changed;
  const baseLines = base.split('\n');
  const ourLines = ours.split('\n');
  const newLines = changed.split('\n');
  const mine = diff(baseLines, ourLines);
  const theirs = diff(baseLines, newLines);
  const out: string[] = [];
  let at = 0;
  let i = 0;
  let j = 0;
  while (i < mine.length || j < theirs.length) {
    const own = mine[i];
    const next = theirs[j];
    const start = Math.min(own?.aStart ?? Infinity, next?.aStart ?? Infinity);
    out.push(...baseLines.slice(at, start));
    // All hunks that overlap are settled together; so are two that begin at the same line.
    let end = start;
    const [fromI, fromJ] = [i, j];
    for (;;) {
      const a = mine[i];
      const b = theirs[j];
      if (a && (a.aStart < end || a.aStart === start)) {
        end = Math.max(end, a.aEnd);
        i++;
      } else if (b && (b.aStart < end || b.aStart === start)) {
        end = Math.max(end, b.aEnd);
        j++;
      } else {
        break;
      }
    }
    if (j > fromJ) {
      out.push(...side(theirs, fromJ, j, start, end, newLines));
    } else {
      out.push(...side(mine, fromI, i, start, end, ourLines));
    }
    at = end;
  }
  out.push(...baseLines.slice(at));
  return out.join('\n');
}

/** What one side has for the lines `start..end` of the base. */
function side(
  hunks: Hunk[],
  from: number,
  to: number,
  start: number,
  end: number,
  lines: string[],
): string[] {
  const first = hunks[from];
  const last = hunks[to - 1];
  if (!first || !last) return [];
  const begin = first.bStart - (first.aStart - start);
  const finish = last.bEnd + (end - last.aEnd);
  return lines.slice(begin, finish);
}
