import { describe, expect, it } from 'vitest';

import { carry, diff } from './lines';

/** A generator that always gives the same numbers, so that a failure can be seen again. */
function numbers(seed: number): () => number {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

function shuffled(lines: string[], next: () => number): string[] {
  return lines.flatMap((line) => {
    const dice = next();
    if (dice < 0.15) return [];
    if (dice < 0.3) return [line, `new ${Math.floor(next() * 5)}`];
    return [line];
  });
}

describe('differences', () => {
  it('put together again, give the other text', () => {
    const next = numbers(7);
    for (let round = 0; round < 300; round++) {
      const a = Array.from({ length: Math.floor(next() * 30) }, () => `l${Math.floor(next() * 8)}`);
      const b = shuffled(a, next);
      const out: string[] = [];
      let at = 0;
      for (const hunk of diff(a, b)) {
        out.push(...a.slice(at, hunk.aStart), ...b.slice(hunk.bStart, hunk.bEnd));
        at = hunk.aEnd;
      }
      out.push(...a.slice(at));
      expect(out).toEqual(b);
    }
  });

  it('of long texts that share nothing are told as one', () => {
    const a = Array.from({ length: 3000 }, (_, i) => `a${i}`);
    const b = Array.from({ length: 3000 }, (_, i) => `b${i}`);
    expect(diff(a, b)).toEqual([{ aStart: 0, aEnd: 3000, bStart: 0, bEnd: 3000 }]);
  });
});

describe('carrying a change over', () => {
  it('keeps how the author laid out the rest', () => {
    expect(carry('a\nb\nc\nd', 'a \nb\nc\n\nd', 'a\nB\nc\nd')).toBe('a \nB\nc\n\nd');
  });

  it('lets the change win where both touch a line', () => {
    expect(carry('a\nb\nc', 'a\n b\nc', 'a\nB\nc')).toBe('a\nB\nc');
  });

  it('gives the change for an author who changed nothing', () => {
    expect(carry('a\nb', 'a\nb', 'b')).toBe('b');
  });

  it('leaves the author alone where nothing changed', () => {
    const next = numbers(3);
    for (let round = 0; round < 100; round++) {
      const base = Array.from({ length: 12 }, () => `l${Math.floor(next() * 6)}`);
      const ours = shuffled(base, next);
      expect(carry(base.join('\n'), ours.join('\n'), base.join('\n'))).toBe(ours.join('\n'));
    }
  });
});
