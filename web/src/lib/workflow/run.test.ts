import { describe, expect, it } from 'vitest';

import { RunPicture } from './run';
import type { Run, RunEvent } from './types';

const RUN: Run = {
  id: 'r1',
  workflow: 'w',
  version: 1,
  state: 'working',
  started_at: '2026-11-16T08:00:00Z',
  updated_at: '2026-11-16T08:00:00Z',
  seq: 0,
  nodes: ['topic', 'draft', 'each', 'ask', 'tell', 'out'].map((node) => ({
    node,
    type: 'agent',
    state: 'pending',
    iteration: 1,
    attempt: 0,
  })),
};

let clock = 0;
function event(type: string, more: Partial<RunEvent> = {}): Omit<RunEvent, 'seq'> {
  clock += 1;
  const time = new Date(Date.UTC(2026, 10, 16, 8, 0, clock)).toISOString();
  return { type, time, run: 'r1', workflow: 'w', iteration: 1, attempt: 1, ...more };
}

const text = (words: string) => ({ artifacts: [{ artifactId: 'a', parts: [{ text: words }] }] });

const LOG: RunEvent[] = [
  event('run.started'),
  event('node.started', { node: 'topic' }),
  event('node.completed', { node: 'topic', payload: text('otters') }),
  event('node.started', { node: 'draft', task_id: 't1' }),
  event('node.failed', { node: 'draft', payload: { reason: 'busy', is_final: false } }),
  event('node.started', { node: 'draft', attempt: 2, task_id: 't2' }),
  event('node.completed', { node: 'draft', attempt: 2, payload: text('one') }),
  event('node.started', { node: 'draft', iteration: 2, task_id: 't3' }),
  event('node.completed', { node: 'draft', iteration: 2, payload: text('two') }),
  event('node.started', { node: 'each' }),
  event('node.started', { node: 'each', item: 0, task_id: 't4' }),
  event('node.started', { node: 'each', item: 1, task_id: 't5' }),
  event('node.completed', { node: 'each', item: 1, payload: text('b') }),
  event('node.waiting', {
    node: 'each',
    item: 0,
    task_id: 't4',
    payload: { question: 'credential', text: 'log in' },
  }),
  event('node.resumed', { node: 'each', item: 0 }),
  event('node.completed', { node: 'each', item: 0, payload: text('a') }),
  event('node.completed', { node: 'each', payload: text('a b') }),
  event('node.started', { node: 'ask' }),
  event('node.waiting', { node: 'ask', payload: { question: 'input', text: 'good?' } }),
  event('node.resumed', { node: 'ask' }),
  event('node.failed', { node: 'ask', payload: { reason: 'reject', is_final: true } }),
  event('node.skipped', { node: 'tell' }),
  event('node.canceled', { node: 'out', payload: { reason: 'ask failed' } }),
  event('run.failed', { payload: { reason: 'ask: reject' } }),
].map((entry, index) => ({ ...entry, seq: index + 1 }));

/** What somebody sees. */
function seen(picture: RunPicture): unknown {
  const { run, nodes, questions, bars, events } = picture;
  return JSON.parse(
    JSON.stringify({
      state: run.state,
      reason: run.reason,
      ended: run.ended_at,
      nodes: [...nodes.values()],
      questions,
      bars,
      events: events.map((entry) => entry.seq),
    }),
  ) as unknown;
}

function snapshotAt(seq: number): Run {
  const picture = new RunPicture(RUN);
  for (const entry of LOG.slice(0, seq)) picture.add(entry);
  return JSON.parse(
    JSON.stringify({
      ...picture.run,
      seq,
      nodes: [...picture.nodes.values()],
      questions: picture.questions,
    }),
  ) as Run;
}

function numbers(seed: number): () => number {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

const whole = new RunPicture(RUN);
for (const entry of LOG) whole.add(entry);

describe('the picture of a run', () => {
  it('tells states, attempts, iterations, reasons', () => {
    expect(whole.run).toMatchObject({ state: 'failed', reason: 'ask: reject' });
    const node = (id: string) => whole.nodes.get(id);
    expect(node('draft')).toMatchObject({ state: 'completed', iteration: 2, task_id: 't3' });
    expect(node('draft')?.artifacts?.[0]?.parts[0]?.text).toBe('two');
    expect(node('each')?.items?.map((item) => item.state)).toEqual(['completed', 'completed']);
    expect(node('ask')).toMatchObject({ state: 'failed', reason: 'reject' });
    expect(node('tell')?.state).toBe('skipped');
    expect(node('out')).toMatchObject({ state: 'canceled', reason: 'ask failed' });
    expect(whole.questions).toEqual([]);
  });

  it('draws every attempt', () => {
    const draft = whole.bars.filter((bar) => bar.node === 'draft');
    expect(draft.map((bar) => [bar.iteration, bar.attempt, bar.state])).toEqual([
      [1, 1, 'failed'],
      [1, 2, 'completed'],
      [2, 1, 'completed'],
    ]);
    expect(whole.bars.every((bar) => bar.end !== null)).toBe(true);
  });

  it('knows what waits, and for whom', () => {
    const picture = new RunPicture(RUN);
    for (const entry of LOG.slice(0, 14)) picture.add(entry);
    expect(picture.run.state).toBe('auth_required');
    expect(picture.questions).toMatchObject([{ node: 'each', item: 0, text: 'log in' }]);
    picture.add(LOG[14] as RunEvent);
    expect(picture.run.state).toBe('working');
    expect(picture.questions).toEqual([]);
  });

  it('is the same from every snapshot on', () => {
    for (let seq = 0; seq <= LOG.length; seq++) {
      const picture = new RunPicture(snapshotAt(seq));
      for (const entry of LOG) picture.add(entry);
      expect(seen(picture), `from ${seq}`).toEqual(seen(whole));
    }
  });

  it('never goes back while old events are read again', () => {
    const states = (picture: RunPicture) => [...picture.nodes.values()].map((node) => node.state);
    for (let seq = 1; seq <= LOG.length; seq++) {
      const picture = new RunPicture(snapshotAt(seq));
      const before = states(picture);
      for (const entry of LOG.slice(0, seq)) {
        picture.add(entry);
        expect(states(picture)).toEqual(before);
      }
      picture.rebase(snapshotAt(seq - 1));
      expect(states(picture)).toEqual(before);
    }
  });

  it('is the same whatever is cut, repeated, late or read anew', () => {
    const next = numbers(11);
    for (let round = 0; round < 200; round++) {
      const picture = new RunPicture(snapshotAt(Math.floor(next() * 5)));
      let at = 0;
      while (at < LOG.length) {
        const dice = next();
        if (dice < 0.2) at = Math.max(0, at - Math.floor(next() * 6));
        else if (dice < 0.3) picture.rebase(snapshotAt(Math.floor(next() * LOG.length)));
        else if (dice < 0.4) picture.add(LOG[Math.floor(next() * LOG.length)] as RunEvent);
        else picture.add(LOG[at++] as RunEvent);
      }
      expect(seen(picture)).toEqual(seen(whole));
    }
  });

  it('says what is news', () => {
    const picture = new RunPicture(RUN);
    expect(picture.add(LOG[1] as RunEvent)).toBe(true);
    expect(picture.add(LOG[1] as RunEvent)).toBe(false);
    expect(picture.add(LOG[0] as RunEvent)).toBe(true);
    expect(picture.lastEvent).toBe(2);
  });
});
