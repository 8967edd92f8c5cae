import { describe, expect, it } from 'vitest';

import { conversation, fold, interfaces, joinParts, type StreamEvent, type Task } from './a2a';

const status = (state: string, text?: string): StreamEvent => ({
  statusUpdate: {
    taskId: 't',
    status: {
      state: `TASK_STATE_${state}`,
      ...(text ? { message: { messageId: text, role: 'ROLE_AGENT', parts: [{ text }] } } : {}),
    },
  },
});
const piece = (text: string, append: boolean): StreamEvent => ({
  artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text }] }, append },
});
const all = (events: StreamEvent[], task?: Task): Task | undefined => events.reduce(fold, task);

describe('a task', () => {
  it('is the fold of its events', () => {
    const task = all([
      { task: { id: 't', status: { state: 'TASK_STATE_SUBMITTED' } } },
      status('WORKING', 'thinking'),
      piece('Ot', false),
      piece('ters', true),
      status('COMPLETED', 'done'),
    ]);
    expect(task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'Otters' }] }]);
    expect(task && conversation(task).map((message) => message.messageId)).toEqual([
      'thinking',
      'done',
    ]);
  });

  it('takes an artifact that is sent anew as a new one', () => {
    const task = all([piece('old', false), piece('new', false)]);
    expect(task?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: 'new' }] }]);
  });

  it('begins with whatever comes first', () => {
    expect(fold(undefined, status('WORKING'))?.id).toBe('t');
  });

  it('does not change what was there', () => {
    const before = all([piece('a', false)]);
    const copy = structuredClone(before);
    fold(before, piece('b', true));
    expect(before).toEqual(copy);
  });
});

it('joins texts and nothing else', () => {
  expect(joinParts([{ text: 'a' }, { text: 'b' }, { data: 1 }, { text: 'c' }])).toEqual([
    { text: 'ab' },
    { data: 1 },
    { text: 'c' },
  ]);
});

it('knows the ways of old cards', () => {
  const card = {
    url: 'https://a.example',
    protocolVersion: '0.3.0',
    additionalInterfaces: [{ url: 'https://a.example/rest', transport: 'HTTP+JSON' }],
  };
  expect(interfaces(card).map((one) => `${one.protocolBinding} ${one.protocolVersion}`)).toEqual([
    'JSONRPC 0.3',
    'HTTP+JSON 0.3',
  ]);
});
