import { describe, expect, it } from 'vitest';

import { paint } from './paint';

describe('colours', () => {
  it('leave the text as it is', () => {
    for (const text of [
      '',
      'a: b',
      'name: "x {{y}} z" # c\n- {id: a, to: \'b\'}\n',
      '{"a": [1]}',
    ]) {
      expect(
        paint(text)
          .map((piece) => piece.text)
          .join(''),
      ).toBe(`${text} `);
    }
  });

  it('tell keys, comments, quotes and references apart', () => {
    const text = `# c\n- {id: a, say: "to {{b}} # no", n: 'x: y'}\n  it's: plain\nend: "open\nnext: 1`;
    const pieces = paint(text).filter((piece) => piece.kind !== 'plain');
    expect(pieces.map((piece) => `${piece.kind} ${piece.text}`)).toEqual([
      'comment # c',
      'key id',
      'key say',
      'quoted "to ',
      'reference {{b}}',
      'quoted  # no"',
      'key n',
      "quoted 'x: y'",
      'key end',
      'quoted "open\n',
      'key next',
    ]);
  });
});
