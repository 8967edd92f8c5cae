// What differs between two texts, line by line.

export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

/** Beyond this the middle is shown as replaced: no card is that long, and nobody should wait. */
const LONGEST = 4000;

export function diff(before: string, after: string): Line[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (text: string): Line => ({ kind: 'same', text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a: string[], b: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: 'removed', text });
  const added = (text: string): Line => ({ kind: 'added', text });
  if (a.length * b.length > LONGEST * LONGEST) return [...a.map(removed), ...b.map(added)];
  // The longest common run of lines, by the usual table.
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] =
        a[i] === b[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const down = table[(i + 1) * width + j] ?? 0;
    const across = table[i * width + j + 1] ?? 0;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && down >= across)) {
      lines.push(removed(a[i] ?? ''));
      i += 1;
    } else {
      lines.push(added(b[j] ?? ''));
      j += 1;
    }
  }
  return lines;
}

/** Keeps a few lines around every change, as `diff -u` does; `undefined` stands for a gap. */
export function hunks(lines: Line[], around = 3): (Line | undefined)[] {
  const isNear = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - around), index + around + 1)
      .some((line) => line.kind !== 'same'),
  );
  const kept: (Line | undefined)[] = [];
  lines.forEach((line, index) => {
    if (isNear[index]) kept.push(line);
    else if (kept.at(-1) !== undefined || index === 0) kept.push(undefined);
  });
  return kept;
}
