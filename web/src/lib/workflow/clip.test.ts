import { describe, expect, it } from 'vitest';

import { paste, toClip } from './clip';
import { WorkflowText } from './document';

const FILE = `name: w
nodes:
  - {id: a, type: input}
  - {id: b, type: agent, config: {prompt: "{{a}} and {{c}}"}}
  - {id: c, type: agent, config: {prompt: "{{b}}"}}
edges:
  - {from: a, to: b}
  - {from: b, to: c, condition: "b.data.ok and 'b' != a"}
  - {from: c, to: b, loop: {max_iterations: 2, exit_when: c.data.ok}}
`;

describe('copy and paste', () => {
  it('renames what was copied along, and nothing else', () => {
    const text = WorkflowText.read(FILE);
    const clip = toClip(text.graph, new Set(['b', 'c']));
    let names: string[] = [];
    const { graph } = text.edit((draft) => {
      names = paste(draft, clip);
    });
    expect(names).toEqual(['b_2', 'c_2']);
    expect(graph.nodes.slice(3).map((node) => node.config)).toEqual([
      { prompt: '{{a}} and {{c_2}}' },
      { prompt: '{{b_2}}' },
    ]);
    expect(graph.edges.slice(3)).toMatchObject([
      { from: 'b_2', to: 'c_2', condition: "b_2.data.ok and 'b' != a" },
      { from: 'c_2', to: 'b_2', loop: { max_iterations: 2, exit_when: 'c_2.data.ok' } },
    ]);
  });

  it('a whole file can be pasted', () => {
    const { graph } = WorkflowText.read('name: x\n').edit((draft) => paste(draft, FILE));
    expect(graph.nodes.map((node) => node.id)).toEqual(['a', 'b', 'c']);
    expect(graph.edges).toHaveLength(3);
  });

  it.each(['', 'hello', 'nodes: nothing', '{"nodes": [1, {}]}', 'nodes: [', '- a'])(
    'anything else changes nothing: %s',
    (clip) => {
      const text = WorkflowText.read(FILE);
      expect(text.edit((draft) => paste(draft, clip))).toBe(text);
    },
  );
});
