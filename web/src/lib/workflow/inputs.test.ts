import { describe, expect, it } from 'vitest';

import { readInput, writeInput } from './inputs';

describe('inputs', () => {
  it.each([
    ['otters', 'otters'],
    ['5', '5'],
    ['true', 'true'],
    ['{"a": [1]}', { a: [1] }],
    [' [1, 2]', [1, 2]],
    ['[see below]', '[see below]'],
    ['{{no}}', '{{no}}'],
  ])('%s', (text, value) => {
    expect(readInput(text)).toEqual(value);
  });

  it('come back as they were written', () => {
    for (const value of ['text', { a: { b: [1, null] } }, ['x']]) {
      expect(readInput(writeInput(value))).toEqual(value);
    }
    expect(writeInput(undefined)).toBe('');
  });
});
