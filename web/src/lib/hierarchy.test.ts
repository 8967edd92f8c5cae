import { expect, it } from 'vitest';

import { afterMove, layout, reach } from './hierarchy';

const agents = [
  { id: 'lead' },
  { id: 'writer', parent: 'lead' },
  { id: 'critic', parent: 'lead' },
  { id: 'cashier' },
];

it('says whom an agent reaches from its place', () => {
  expect([...reach(agents, 'writer')]).toEqual(['lead', 'critic']);
  expect([...reach(agents, 'cashier')]).toEqual([]);
});

it('says what a move allows and forbids', () => {
  expect(afterMove(agents, 'writer', 'cashier')).toEqual({
    gained: ['cashier'],
    lost: ['lead', 'critic'],
  });
  expect(afterMove(agents, 'cashier', 'lead')).toEqual({
    gained: ['lead', 'writer', 'critic'],
    lost: [],
  });
});

it('puts nobody on top of anybody', () => {
  const many = [...agents, ...Array.from({ length: 30 }, (_, index) => ({ id: `a${index}` }))];
  const spots = [...layout(many, 10, 10).values()].map((spot) => `${spot.x}/${spot.y}`);
  expect(new Set(spots).size).toBe(many.length);
});
