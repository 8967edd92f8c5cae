import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { diff } from '../diff';
import { freshId, nodeLines, WorkflowText, type Draft } from './document';
import { reachable } from './graph';

const { read } = WorkflowText;
const edit = (source: string, change: (draft: Draft) => void) => read(source).edit(change).source;

const EXAMPLES = join(import.meta.dirname, '../../../../examples/workflows');
const report = readFileSync(join(EXAMPLES, 'report.yaml'), 'utf8');

const FLOW = `# at the head
name: report   # which it is
version: 1
nodes:
  - {id: topic, type: input}
  # the author
  - {id: draft, type: external, config: {agent: writer, prompt: "Write about {{topic}}", timeout: 60s}}

  - {id: out,   type: output}   # what comes out
edges:
  - {from: topic, to: draft}    # first
  - {from: draft, to: out}
`;

const LOOSE = `name: loose
nodes:
- id: a
  type: input
- id: b
  type: agent
  config: {
    model: openai/gpt-5,   # the good one
    prompt: "long {{a}}",
  }

# three
- id: c
  type:   output
edges:
- { from: a, to: b }
- { from: b, to: c, condition: "b.data.ok == true" }
`;

const SHARED = `name: shared
defaults: &d {agent: writer, timeout: 5s}
nodes:
  - {id: a, type: external, config: *d}
  - {id: b, type: external, config: {<<: *d, prompt: "{{a}}"}}
edges: [{from: a, to: b}]
`;

const JSON_FILE = `{
    "name": "json",
    "nodes": [
        {"id": "a", "type": "input"},
        {"id": "b", "type": "output"}
    ],
    "edges": [{"from": "a", "to": "b"}]
}
`;

const corpus: Record<string, string> = {
  FLOW,
  LOOSE,
  JSON_FILE,
  EMPTY_LISTS: 'name: e\nnodes: []\nedges: []\n',
  BARE: 'name: bare\n',
};
for (const file of readdirSync(EXAMPLES)) {
  corpus[file] = readFileSync(join(EXAMPLES, file), 'utf8');
}

/** Edits that somebody makes on the canvas; each says what must be true of the graph then. */
const edits: Record<string, (draft: Draft) => void> = {
  'add a node': (draft) => {
    draft.addNode({ id: 'fresh', type: 'agent', config: { prompt: 'Say {{fresh}}: yes\nor no' } });
  },
  'add an edge': (draft) => {
    const id = draft.addNode({ id: 'end', type: 'output' });
    const first = draft.graph.nodes[0];
    if (first) draft.addEdge({ from: first.id, to: id, trigger_rule: 'always' });
  },
  'change a prompt': (draft) => {
    if (draft.graph.nodes[1]) draft.set(['nodes', 1, 'config', 'prompt'], '{{x}} # no comment');
  },
  'write several lines': (draft) => {
    if (draft.graph.nodes[1]) draft.set(['nodes', 1, 'config', 'prompt'], 'one\n\n  two: {}\n');
  },
  'empty a config': (draft) => {
    const node = draft.graph.nodes[1];
    for (const key of Object.keys(node?.config ?? {})) {
      draft.set(['nodes', 1, 'config', key], undefined);
    }
  },
  'remove the second node': (draft) => {
    if (draft.graph.nodes[1]) draft.removeNodes([1]);
  },
  'remove everything': (draft) => {
    draft.removeNodes(draft.graph.nodes.map((node) => node.index));
  },
  'make a loop': (draft) => {
    if (draft.graph.edges[0]) draft.set(['edges', 0, 'loop'], { max_iterations: 3 });
  },
  rename: (draft) => {
    if (draft.graph.nodes[0]) draft.renameNode(0, 'renamed');
  },
};

function comments(source: string): string[] {
  return source.split('\n').flatMap((line) => /(?:^|\s)#.*$/.exec(line)?.[0].trim() ?? []);
}

describe('edits of a file', () => {
  for (const [name, source] of Object.entries(corpus)) {
    it(`without any change ${name} stays as it is`, () => {
      expect(edit(source, () => undefined)).toBe(source);
      expect(read(source).problems).toEqual([]);
    });

    for (const [label, change] of Object.entries(edits)) {
      it(`${label} in ${name}: the text says what the tree does`, () => {
        let wanted = '';
        const text = edit(source, (draft) => {
          change(draft);
          wanted = JSON.stringify(draft.graph);
        });
        expect(read(text).problems).toEqual([]);
        expect(JSON.stringify(read(text).graph)).toBe(wanted);
        // Another edit of what came of it changes nothing by itself.
        expect(edit(text, () => undefined)).toBe(text);
      });
    }

    it(`a chain of edits in ${name} can be taken in any order of edits`, () => {
      const order = Object.keys(edits).filter((label) => label !== 'remove everything');
      for (let turn = 0; turn < order.length; turn++) {
        let text = source;
        for (let step = 0; step < order.length; step++) {
          const change = edits[order[(turn + step * (turn + 1)) % order.length] ?? ''];
          if (change) text = edit(text, change);
          expect(read(text).problems).toEqual([]);
        }
      }
    });
  }

  it('comments, order and layout of everything else survive', () => {
    for (const source of [FLOW, LOOSE, report]) {
      for (const label of ['add a node', 'add an edge', 'change a prompt', 'make a loop']) {
        const change = edits[label];
        if (!change) continue;
        const text = edit(source, change);
        expect(comments(text)).toEqual(
          expect.arrayContaining(
            comments(source).filter((c) => !['# first', '# the good one'].includes(c)),
          ),
        );
        const touched = diff(source, text).filter((line) => line.kind === 'removed');
        expect(touched.length, `${label}\n${text}`).toBeLessThanOrEqual(4);
      }
    }
  });

  it('one edit after another gives what each gives alone', () => {
    for (const source of Object.values(corpus)) {
      let [kept, anew] = [read(source), source];
      for (const change of Object.values(edits)) {
        kept = kept.edit(change);
        anew = edit(anew, change);
        expect(read(kept.source).graph).toEqual(kept.graph);
        expect(kept.graph).toEqual(read(anew).graph);
      }
    }
  });

  it('a text can be edited twice from the same place', () => {
    const text = read(FLOW);
    const one = text.edit((draft) => draft.set(['description'], 'one'));
    const two = text.edit((draft) => draft.set(['description'], 'two'));
    expect([one.graph.description, two.graph.description]).toEqual(['one', 'two']);
  });

  it('a new edge is one new line', () => {
    const text = edit(FLOW, (draft) => draft.addEdge({ from: 'topic', to: 'out' }));
    expect(diff(FLOW, text).filter((line) => line.kind !== 'same')).toEqual([
      { kind: 'added', text: '  - {from: topic, to: out}' },
    ]);
  });

  it('untouched steps stay as they are, however oddly they are laid out', () => {
    let seed = 5;
    const chance = (part: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed / 2147483648 < part;
    };
    const gap = () => (chance(0.3) ? '\n         ' : chance(0.5) ? ' ' : '   ');
    for (let round = 0; round < 150; round++) {
      const deep = ' '.repeat(chance(0.5) ? 4 : 0);
      const steps = [0, 1, 2, 3].map((number) =>
        chance(0.5)
          ? `${deep}- {id: n${number},${gap()}type: agent,${gap()}config: {prompt: "p",${gap()}model: m}} # c${number}\n`
          : `${deep}-   id:  n${number}\n\n${deep}    # c${number}\n${deep}    config:\n${deep}         prompt:   p\n${deep}         model: m\n${deep}    type: agent\n`,
      );
      const source = `name:   odd\nnodes:\n${steps.join('')}edges:\n- {from:   n0, to: n1}\n`;
      const changed = edit(source, (draft) => {
        if (round % 3 === 0) draft.removeNodes([2]);
        else if (round % 3 === 1) draft.set(['nodes', 2, 'config', 'prompt'], 'q');
        else draft.addNode({ id: 'n4', type: 'output' });
      });
      for (const [number, text] of steps.entries()) {
        // A comment is held by the step behind it, too.
        if (number !== 2 && number !== 1) expect(changed, source).toContain(text);
        if (number !== 2) expect(changed).toContain(`# c${number}`);
      }
      expect(changed).toContain('{from:   n0, to: n1}');
      expect(changed).toContain('name:   odd');
    }
  });

  it('a new name is carried to edges, templates and conditions', () => {
    const text = edit(report, (draft) => draft.renameNode(2, 'judge'));
    expect(text).toContain('{{judge.data.notes}}');
    expect(text).toContain('exit_when: judge.data.score >= 8');
    expect(text).toContain('gather: [draft, judge]');
    expect(text).toContain('{from: draft, to: judge}');
    expect(text).not.toMatch(/\breview\b(?!er)/);
  });

  it('what an anchor shares is not changed for others', () => {
    const text = edit(SHARED, (draft) => draft.set(['nodes', 0, 'config', 'agent'], 'other'));
    const { nodes } = read(text).graph;
    expect(nodes[0]?.config).toEqual({ agent: 'other', timeout: '5s' });
    expect(nodes[1]?.config).toMatchObject({ agent: 'writer', timeout: '5s' });
  });

  it('a file that cannot be read is left alone', () => {
    const broken = 'name: [\nnodes: }';
    expect(read(broken).problems[0]).toMatchObject({ code: 'syntax', severity: 'error' });
    expect(edit(broken, (draft) => draft.addNode({ id: 'a', type: 'input' }))).toBe(broken);
  });

  it('aliases that multiply do not hang the page', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i++) {
      const [from, to] = [String.fromCharCode(96 + i), String.fromCharCode(97 + i)];
      bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(', ')}]`);
    }
    expect(read(bomb.join('\n')).problems[0]?.code).toBe('too-large');
  });

  it('names of new nodes are free and allowed', () => {
    const { graph } = read(FLOW);
    expect(freshId(graph, 'draft')).toBe('draft_2');
    expect(freshId(graph, '__my agent!')).toBe('my_agent_');
    expect(freshId(graph, '…')).toBe('node');
  });

  it('nodes are found in the text', () => {
    expect(nodeLines(FLOW)).toEqual([5, 7, 9]);
  });

  it('reachable follows edges, not loops', () => {
    const { graph } = read(report);
    expect([...reachable(graph, 'draft')].sort()).toEqual(['out', 'review', 'tell']);
  });
});
