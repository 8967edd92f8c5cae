import { describe, expect, it } from 'vitest';

import { readMarkdown, type Block, type Inline } from './markdown';

function words(inlines: Inline[]): string {
  return inlines
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'code') return `code(${piece.text})`;
      if (piece.kind === 'break') return 'br';
      const inner = words(piece.children);
      return piece.kind === 'link' ? `link(${piece.href}|${inner})` : `${piece.kind}(${inner})`;
    })
    .join('');
}

function short(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return `p:${words(block.children)}`;
    case 'heading':
      return `h${block.level}:${words(block.children)}`;
    case 'code':
      return `code[${block.language}]:${block.text}`;
    case 'quote':
      return `quote(${block.children.map(short).join(';')})`;
    case 'list':
      return `${block.ordered ? 'ol' : 'ul'}(${block.items.map((item) => item.map(short).join(';')).join(',')})`;
    case 'table':
      return `table(${block.head.map(words).join('|')}/${block.rows.map((row) => row.map(words).join('|')).join('/')})`;
    case 'rule':
      return 'hr';
  }
}

function check(text: string, ...expected: string[]): void {
  expect(readMarkdown(text).map(short)).toEqual(expected);
}

describe('markdown', () => {
  it('reads what agents usually write', () => {
    check(
      '# Title\n\nSome **bold**, *light* and `code`.',
      'h1:Title',
      'p:Some strong(bold), em(light) and code(code).',
    );
    check('- one\n- two\n  - inner\n\ndone', 'ul(p:one,p:two;ul(p:inner))', 'p:done');
    check('1. one\n2. two', 'ol(p:one,p:two)');
    check('```js\nlet a = "<b>";\n```', 'code[js]:let a = "<b>";');
    check('> said\n> so', 'quote(p:said\nso)');
    check('a | b\n--|--\n1 | 2', 'table(a|b/1|2)');
    check('---', 'hr');
    check('snake_case_name and 2 * 3 * 4', 'p:snake_case_name and 2 * 3 * 4');
  });

  it('leaves HTML as text', () => {
    check('<img src=x onerror=alert(1)>', 'p:<img src=x onerror=alert(1)>');
    check('<script>alert(1)</script>', 'p:<script>alert(1)</script>');
  });

  it('follows only links of the web, and none that lie', () => {
    check('[a](https://a.example/)', 'p:link(https://a.example/|a)');
    check('[a](javascript:alert(1))', 'p:[a](javascript:alert(1))');
    check('[a](data:text/html,x)', 'p:[a](data:text/html,x)');
    check(
      '[https://bank.example](https://evil.example)',
      'p:[https://bank.example](https://evil.example)',
    );
    check('see https://a.example/x.', 'p:see link(https://a.example/x|https://a.example/x).');
  });

  it('ends on anything, and soon', { timeout: 20_000 }, () => {
    for (const text of [
      '```',
      '[',
      '**',
      '- ',
      '> > > >',
      '|',
      '|-|\n|-|',
      '1.',
      '*a_b*c_',
      '`'.repeat(9),
    ]) {
      expect(() => readMarkdown(text)).not.toThrow();
    }
    readMarkdown('> '.repeat(5000) + 'x');
    readMarkdown('*a '.repeat(20_000));
    readMarkdown('['.repeat(20_000));
    readMarkdown('`a'.repeat(20_000));
    readMarkdown('- a\n'.repeat(20_000));
  });

  it('shows hidden characters', () => {
    check('a\u202eb', 'p:a⟨U+202E⟩b');
  });
});
