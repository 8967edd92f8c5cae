/** The pieces of a workflow's text: every member, and every step and way in its list. */

import { carry, diff } from './lines';

const LISTS = /^(nodes|edges|groups)[ \t]*:[ \t]*(#.*)?$/;

/**
 * Cuts a text where members and items begin. Comments stay with the piece before them, in every
 * manner of writing alike. What is not written as a block is not cut.
 */
export function blocks(text: string): string[] {
  const pieces: string[][] = [[]];
  let dash: RegExp | null = null;
  let isListNext = false;
  for (const line of text.split('\n')) {
    if (isListNext && !/^\s*(#|$)/.test(line)) {
      const indent = /^( *)-(?= |$)/.exec(line)?.[1];
      dash = indent === undefined ? null : new RegExp(`^ {${indent.length}}-(?: |$)`);
      isListNext = false;
    }
    const isMember = /^[^\s#-]/.test(line);
    if (isMember) {
      dash = null;
      isListNext = LISTS.test(line.trimEnd());
    }
    const isBegun = (pieces[pieces.length - 1]?.length ?? 0) > 0;
    if (isBegun && (isMember || dash?.test(line))) pieces.push([]);
    pieces[pieces.length - 1]?.push(line);
  }
  return pieces.map((piece) => piece.join('\n'));
}

/**
 * Makes the change from `base` to `changed` in `ours`, which says the same as `base` in other
 * words, piece by piece: pieces that did not change stay as their author wrote them. Those that did
 * are `changed` as a whole, or line by line where `fine` is asked for. Returns nothing where the
 * two texts are not made of the same pieces.
 */
export function carryBlocks(
  base: string,
  ours: string,
  changed: string,
  fine: boolean,
): string | null {
  const before = blocks(base);
  const own = blocks(ours);
  const after = blocks(changed);
  if (before.length !== own.length) return null;
  const out: string[] = [];
  let at = 0;
  for (const hunk of diff(before, after)) {
    out.push(...own.slice(at, hunk.aStart));
    const pairs = hunk.aEnd - hunk.aStart === hunk.bEnd - hunk.bStart;
    for (let index = hunk.bStart; index < hunk.bEnd; index++) {
      const old = hunk.aStart + index - hunk.bStart;
      const next = shift(after[index] ?? '', depthNear(own, old));
      out.push(fine && pairs ? carry(before[old] ?? '', own[old] ?? '', after[index] ?? '') : next);
    }
    at = hunk.aEnd;
  }
  out.push(...own.slice(at));
  return out.join('\n');
}

/** How deep the items stand around a place; nothing where there are none. */
function depthNear(pieces: string[], at: number): number | null {
  for (const index of [at, at - 1, at + 1]) {
    const depth = depthOf(pieces[index] ?? '');
    if (depth !== null) return depth;
  }
  return null;
}

function depthOf(piece: string): number | null {
  return /^( *)-(?= |\n|$)/.exec(piece)?.[1]?.length ?? null;
}

/** An item as deep as its neighbours stand; YAML wants that. */
function shift(piece: string, depth: number | null): string {
  const now = depthOf(piece);
  if (now === null || depth === null || now === depth) return piece;
  if (depth > now) return piece.replace(/^(?=.)/gm, ' '.repeat(depth - now));
  return piece.replace(new RegExp(`^ {1,${now - depth}}`, 'gm'), '');
}
