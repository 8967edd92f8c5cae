import { describe, expect, it } from 'vitest';

import { diff, hunks, type Line } from './diff';

const MARKS = { same: ' ', added: '+', removed: '-' };
const show = (lines: (Line | undefined)[]): string =>
  lines.map((line) => (line ? MARKS[line.kind] + line.text : '…')).join('\n');

describe('diff', () => {
  it('says which lines came and went', () => {
    expect(show(diff('a\nb\nc', 'a\nx\nc'))).toBe(' a\n-b\n+x\n c');
    expect(show(diff('a\nb', 'a\nb'))).toBe(' a\n b');
    expect(show(diff('a', 'a\nb'))).toBe(' a\n+b');
    expect(show(diff('x\na\ny', 'a'))).toBe('-x\n a\n-y');
  });

  it('makes both texts again', () => {
    const before = 'one two three four five six'.replaceAll(' ', '\n');
    const after = 'zero two four 4.5 six seven'.replaceAll(' ', '\n');
    const lines = diff(before, after);
    const without = (kind: Line['kind']): string =>
      lines
        .filter((line) => line.kind !== kind)
        .map((line) => line.text)
        .join('\n');
    expect(without('added')).toBe(before);
    expect(without('removed')).toBe(after);
  });

  it('leaves out what is far from any change', () => {
    const before = Array.from({ length: 20 }, (_, index) => `l${index}`);
    const after = before.map((line) => (line === 'l10' ? 'new' : line));
    expect(show(hunks(diff(before.join('\n'), after.join('\n')), 1))).toBe(
      '…\n l9\n-l10\n+new\n l11\n…',
    );
  });
});
