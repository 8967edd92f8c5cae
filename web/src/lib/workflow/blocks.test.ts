import { describe, expect, it } from 'vitest';

import { blocks, carryBlocks } from './blocks';

const FILE = `# head
name: x
description: |
  - no item
  nodes:
nodes:
    # the first
    -   id: a
        config:
          prompt: |
            - no item either
    - {id: b,
       type: agent}
edges:
- {from: a, to: b}
# the end
`;

describe('pieces of a file', () => {
  it('begin with members and items, however deep these stand', () => {
    expect(blocks(FILE).map((piece) => piece.split('\n')[0])).toEqual([
      '# head',
      'name: x',
      'description: |',
      'nodes:',
      '    -   id: a',
      '    - {id: b,',
      'edges:',
      '- {from: a, to: b}',
    ]);
  });

  it('put together again, are the file', () => {
    for (const text of [FILE, '', 'a', '{\n"nodes": []\n}\n', 'nodes:\n\nedges: []\n']) {
      expect(blocks(text).join('\n')).toBe(text);
    }
  });

  it('stay as they are unless they change', () => {
    const base = 'name: x\nnodes:\n  - id: a\n    type: t\n  - id: b\n    type: t\n';
    const ours = 'name:   x\nnodes:\n-   id: a\n    type: t\n\n-   id:  b\n    type: t\n';
    const changed = base.replace('id: b', 'id: c');
    expect(carryBlocks(base, ours, changed, false)).toBe(
      'name:   x\nnodes:\n-   id: a\n    type: t\n\n- id: c\n  type: t\n',
    );
    expect(carryBlocks(base, `${ours}more: y\n`, changed, false)).toBeNull();
  });
});
