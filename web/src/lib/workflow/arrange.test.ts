import { describe, expect, it } from 'vitest';

import { arrange, type Spot } from './arrange';

/** Places a graph that is written as `a>b b>c`; every box is 60 high. */
function place(text: string): Map<string, Spot> {
  const ways = text.split(' ').map((word) => {
    const [from = '', to = ''] = word.split('>');
    return { from, to };
  });
  const keys = [...new Set(ways.flatMap(({ from, to }) => [from, to]))].sort();
  return arrange(
    keys.map((key) => ({ key, height: 60 })),
    ways,
  );
}

function y(spots: Map<string, Spot>, key: string): number {
  return spots.get(key)?.y ?? Number.NaN;
}

describe('arrange', () => {
  it('a chain is a straight line', () => {
    const spots = place('a>b b>c c>d');
    expect([...spots.values()].map(({ column }) => column)).toEqual([0, 1, 2, 3]);
    expect(new Set([...spots.values()].map((spot) => spot.y)).size).toBe(1);
  });

  it('a fork stands around its root, and meets in the middle again', () => {
    const spots = place('a>b a>c a>d b>e c>e d>e');
    expect(y(spots, 'a')).toBeCloseTo(y(spots, 'c'));
    expect(y(spots, 'e')).toBeCloseTo(y(spots, 'c'));
    expect(y(spots, 'c') - y(spots, 'b')).toBeCloseTo(88);
  });

  it('edges that need not cross do not', () => {
    const spots = place('a>d b>c');
    expect(y(spots, 'a') < y(spots, 'b')).toBe(y(spots, 'd') < y(spots, 'c'));
  });

  it('a long edge leaves room where it passes', () => {
    const spots = place('a>b b>c a>c');
    expect(Math.abs(y(spots, 'b') - y(spots, 'a'))).toBeGreaterThan(10);
  });

  it('what nothing leads to stands right before what it leads to', () => {
    expect(place('a>b b>c x>c').get('x')?.column).toBe(1);
  });

  it('a circle is cut where the file begins', () => {
    const spots = place('a>b b>c c>a');
    expect([...spots.values()].map(({ column }) => column)).toEqual([0, 1, 2]);
  });
});
