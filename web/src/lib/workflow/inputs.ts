/** Inputs of a run as people type them. */

import type { Json } from './types';

/** Objects and lists are data; everything else is a text, numbers included. */
export function readInput(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

export function writeInput(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
