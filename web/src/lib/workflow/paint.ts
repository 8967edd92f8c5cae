/** Colours for YAML and JSON: enough to find one's way, not a grammar. */

export interface Piece {
  kind: 'plain' | 'comment' | 'key' | 'quoted' | 'reference';
  text: string;
}

const KEY = /(?:"[^"\n]*"|[\w-]+)(?=:(?:\s|$))/y;
const REFERENCE = /\{\{[^{}\n]*\}\}/y;

/** The text in pieces that, one behind the other, are the text and a blank. */
export function paint(source: string): Piece[] {
  const pieces: Piece[] = [];
  const add = (kind: Piece['kind'], text: string): void => {
    const last = pieces[pieces.length - 1];
    if (last?.kind === kind && kind !== 'reference') last.text += text;
    else pieces.push({ kind, text });
  };
  let quote = '';
  let canBegin = true;
  for (let at = 0; at < source.length;) {
    const letter = source[at] ?? '';
    const reference = matchAt(REFERENCE, source, at);
    if (reference !== null) {
      add('reference', reference);
      at += reference.length;
      canBegin = false;
      continue;
    }
    if (quote !== '') {
      // Quotes of several lines are rare; one that is not closed should not colour the rest.
      const text = letter === '\\' && quote === '"' ? source.slice(at, at + 2) : letter;
      add('quoted', text);
      if (letter === quote || letter === '\n') quote = '';
      canBegin = letter === '\n';
      at += text.length;
      continue;
    }
    const before = source[at - 1] ?? '\n';
    if (letter === '#' && /\s/.test(before)) {
      const end = source.indexOf('\n', at);
      const text = source.slice(at, end < 0 ? undefined : end);
      add('comment', text);
      at += text.length;
      continue;
    }
    const key = canBegin ? matchAt(KEY, source, at) : null;
    if (key !== null) {
      add('key', key);
      at += key.length;
      canBegin = false;
      continue;
    }
    if ((letter === '"' || letter === "'") && /[\s[{,:(]/.test(before)) {
      quote = letter;
      add('quoted', letter);
    } else add('plain', letter);
    // Keys stand at the beginning of a line, behind a dash, or in braces.
    canBegin = /[\n{,]/.test(letter) || (canBegin && /[\s-]/.test(letter));
    at++;
  }
  // A line break at the very end is not drawn without something behind it.
  add('plain', ' ');
  return pieces;
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}
