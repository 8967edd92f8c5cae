import { expect, it, vi } from 'vitest';

vi.stubGlobal('document', { baseURI: 'http://hub.example/ui/' });
const { merge } = await import('./tasks.svelte');
type Row = Parameters<typeof merge>[0][number];

const row = (id: string, second: number): Row =>
  ({ id, updated: `2026-11-16T12:00:0${second}Z`, state: 'x', events: second }) as Row;

it('puts what has changed first, and every task once', () => {
  const kept = [row('a', 3), row('b', 2), row('c', 1)];
  expect(merge(kept, [row('c', 5), row('d', 4)]).map((one) => one.id)).toEqual([
    'c',
    'd',
    'a',
    'b',
  ]);
  expect(merge(kept, [])).toBe(kept);
});
