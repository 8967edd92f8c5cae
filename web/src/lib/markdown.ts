// Reads the Markdown that agents write, as a tree of a few harmless things. There is no HTML in it:
// what looks like HTML is text, and what is not understood is text, too.

import { inert, safeLink } from './format';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'strong' | 'em' | 'strike'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] };

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

/** Deeper than this, things are text. */
const DEPTH = 12;
/** More than this is shown as it was written: nobody reads that much formatted. */
const LONGEST = 200_000;

export function readMarkdown(text: string): Block[] {
  const plain = inert(text);
  if (plain.length > LONGEST) return [{ kind: 'code', language: '', text: plain }];
  return blocks(plain.split('\n'), 0);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const QUOTE = /^ {0,3}> ?/;
const CELLS = /^\s*\|?(\s*:?-{1,}:?\s*\|)+\s*(:?-{1,}:?\s*)?\|?\s*$/;

function blocks(lines: string[], depth: number): Block[] {
  const found: Block[] = [];
  let at = 0;
  const line = (offset = 0): string => lines[at + offset] ?? '';
  while (at < lines.length) {
    if (line().trim() === '') {
      at += 1;
      continue;
    }
    const fence = FENCE.exec(line());
    if (fence) {
      at = code(lines, at, fence, found);
      continue;
    }
    const heading = HEADING.exec(line());
    if (heading) {
      const children = inline(heading[2] ?? '', depth);
      found.push({ kind: 'heading', level: heading[1]?.length ?? 1, children });
      at += 1;
      continue;
    }
    if (RULE.test(line())) {
      found.push({ kind: 'rule' });
      at += 1;
      continue;
    }
    if (QUOTE.test(line()) && depth < DEPTH) {
      const quoted: string[] = [];
      while (at < lines.length && QUOTE.test(line())) {
        quoted.push(line().replace(QUOTE, ''));
        at += 1;
      }
      found.push({ kind: 'quote', children: blocks(quoted, depth + 1) });
      continue;
    }
    if (ITEM.test(line()) && depth < DEPTH) {
      at = list(lines, at, depth, found);
      continue;
    }
    if (line().includes('|') && CELLS.test(line(1)) && line(1).includes('-')) {
      at = table(lines, at, depth, found);
      continue;
    }
    const paragraph: string[] = [];
    while (at < lines.length && line().trim() !== '' && !(paragraph.length > 0 && begins(line()))) {
      paragraph.push(line());
      at += 1;
    }
    found.push({ kind: 'paragraph', children: inline(paragraph.join('\n').trim(), depth) });
  }
  return found;
}

function begins(line: string): boolean {
  return [FENCE, HEADING, RULE, ITEM, QUOTE].some((pattern) => pattern.test(line));
}

function code(lines: string[], from: number, fence: RegExpExecArray, found: Block[]): number {
  const mark = fence[1] ?? '```';
  const kept: string[] = [];
  let at = from + 1;
  const isEnd = (line: string): boolean => {
    const trimmed = line.trim();
    return trimmed.length >= mark.length && [...trimmed].every((letter) => letter === mark[0]);
  };
  while (at < lines.length && !isEnd(lines[at] ?? '')) {
    kept.push(lines[at] ?? '');
    at += 1;
  }
  found.push({ kind: 'code', language: fence[2] ?? '', text: kept.join('\n') });
  return at + 1;
}

function list(lines: string[], from: number, depth: number, found: Block[]): number {
  const first = ITEM.exec(lines[from] ?? '');
  const isOrdered = /\d/.test(first?.[2] ?? '');
  const items: string[][] = [];
  let at = from;
  let indent = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const item = ITEM.exec(line);
    const isInside = /^\s+/.exec(line)?.[0].length ?? 0;
    if (item && isInside < Math.max(indent, 2) && /\d/.test(item[2] ?? '') === isOrdered) {
      indent = item[0].length;
      items.push([line.slice(indent)]);
    } else if (line.trim() === '') {
      const next = lines[at + 1] ?? '';
      if (!/^\s{2,}\S/.test(next) && !ITEM.test(next)) break;
      items.at(-1)?.push('');
    } else if (isInside >= 2) {
      items.at(-1)?.push(line.slice(Math.min(isInside, indent)));
    } else if (item || begins(line) || lines[at - 1]?.trim() === '') {
      break;
    } else {
      items.at(-1)?.push(line);
    }
    at += 1;
  }
  found.push({
    kind: 'list',
    ordered: isOrdered,
    start: Number.parseInt(first?.[2] ?? '1', 10) || 1,
    items: items.map((item) => blocks(item, depth + 1)),
  });
  return Math.max(at, from + 1);
}

function table(lines: string[], from: number, depth: number, found: Block[]): number {
  const cells = (line: string): Inline[][] =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => inline(cell.trim(), depth));
  const head = cells(lines[from] ?? '');
  const rows: Inline[][][] = [];
  let at = from + 2;
  while (at < lines.length && (lines[at] ?? '').includes('|')) {
    rows.push(cells(lines[at] ?? '').slice(0, head.length));
    at += 1;
  }
  found.push({ kind: 'table', head, rows });
  return at;
}

const PIECE =
  /(`+)([\s\S]*?[^`])\1(?!`)|\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(\*\*|__)(?=\S)([\s\S]*?\S)\5|(~~)(?=\S)([\s\S]*?\S)~~|([*_])(?=\S)([^*_\n]*?[^\s*_])\9(?!\w)|(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])|( {2,}\n|\\\n)/;

function inline(text: string, depth: number): Inline[] {
  const found: Inline[] = [];
  let rest = text;
  while (rest !== '') {
    const match = depth > DEPTH ? null : PIECE.exec(rest);
    if (!match) {
      found.push({ kind: 'text', text: rest });
      break;
    }
    const before = rest.slice(0, match.index);
    const [all, , codeText, label, target, , strong, , strike, mark, em, bare] = match;
    // A mark inside a word is part of the word: `snake_case`.
    const isInWord = mark === '_' && /\w$/.test(before);
    if (before !== '') found.push({ kind: 'text', text: before });
    if (isInWord) found.push({ kind: 'text', text: all });
    else if (codeText !== undefined)
      found.push({ kind: 'code', text: codeText.trim() || codeText });
    else if (label !== undefined) found.push(...link(label, target ?? '', all, depth));
    else if (strong !== undefined) found.push(nested('strong', strong, depth));
    else if (strike !== undefined) found.push(nested('strike', strike, depth));
    else if (em !== undefined) found.push(nested('em', em, depth));
    else if (bare !== undefined) found.push(...link(bare, bare, all, DEPTH));
    else found.push({ kind: 'break' });
    rest = rest.slice(match.index + all.length);
  }
  return found;
}

function nested(kind: 'strong' | 'em' | 'strike', text: string, depth: number): Inline {
  return { kind, children: inline(text, depth + 1) };
}

function link(label: string, target: string, all: string, depth: number): Inline[] {
  const href = safeLink(target);
  if (!href) return [{ kind: 'text', text: all }];
  const children: Inline[] =
    depth >= DEPTH ? [{ kind: 'text', text: label }] : inline(label, depth + 1);
  // A label that is itself an address must not hide where the link leads.
  const claims = safeLink(label.trim());
  if (claims && claims !== href) return [{ kind: 'text', text: all }];
  return [{ kind: 'link', href, children }];
}
