import { describe, expect, it } from 'vitest';

import { readGraph, type Graph } from './graph';
import { layout, NODE_HEIGHT, NODE_WIDTH } from './layout';

function ladder(count: number): Graph {
  const nodes = Array.from({ length: count }, (_, i) => ({ id: `n${i}`, type: 'agent' }));
  const edges = nodes.slice(1).map((node, i) => ({ from: `n${Math.floor(i / 3)}`, to: node.id }));
  return readGraph({ name: 'l', nodes, edges });
}

function check(graph: Graph): void {
  const places = layout(graph);
  expect(places.size).toBe(graph.nodes.length);
  const boxes = [...places.values()].sort((a, b) => a.x - b.x || a.y - b.y);
  for (const [index, box] of boxes.entries()) {
    const next = boxes[index + 1];
    if (next?.x === box.x) expect(next.y - box.y).toBeGreaterThanOrEqual(NODE_HEIGHT);
    else if (next) expect(next.x - box.x).toBeGreaterThanOrEqual(NODE_WIDTH);
  }
  for (const edge of graph.edges) {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    if (!edge.loop && from && to) expect(to.x).toBeGreaterThan(from.x);
  }
}

describe('layout', () => {
  it.each([1, 7, 60, 300, 500, 1200])('of %i nodes: nobody overlaps, edges lead right', (count) => {
    check(ladder(count));
  });

  it('loops do not turn the direction around', () => {
    const nodes = ['b', 'a', 'c'].map((id) => ({ id, type: 'agent' }));
    const edges = [
      { from: 'b', to: 'a', loop: {} },
      { from: 'c', to: 'a', loop: {} },
      { from: 'a', to: 'b' },
      { from: 'b', to: 'c' },
    ];
    check(readGraph({ nodes, edges }));
  });

  it('bears loops, circles, edges to nowhere and names that stand twice', () => {
    const graph = readGraph({
      nodes: [{ id: 'a' }, { id: 'b' }, { id: 'b' }, {}],
      edges: [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a', loop: {} },
        { from: 'a', to: 'nowhere' },
        { from: 'b', to: 'a' },
      ],
    });
    expect(layout(graph).size).toBe(4);
  });
});
