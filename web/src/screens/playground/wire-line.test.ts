import { expect, test } from 'vitest';

import { agentLine, direction, merged, prettyBody, type WireLine } from './wire-line';

const item = {
  seq: 1,
  exchange: 1,
  at: '2026-11-16T12:00:00.000Z',
  kind: 'request',
  form: 'A2A 0.3 HTTP+JSON',
  method: 'POST',
  path: '/v1/message:stream',
  headers: [
    { name: 'a2a-version', value: '0.3' },
    { name: 'authorization', value: null },
  ],
  body: '{"message":{"role":"ROLE_USER"}}',
  bytes: 32,
  is_cut: false,
};

test('a request to an agent says where it goes, and hides what proves something', () => {
  const line = agentLine(item);
  expect(line.head).toBe('POST /v1/message:stream');
  expect(direction(line)).toBe('hub → agent');
  expect(line.headers).toBe('a2a-version: 0.3\nauthorization: •••');
  expect(line.body).toBe('{\n  "message": {\n    "role": "ROLE_USER"\n  }\n}');
});

test('what comes back says how it came', () => {
  const of = (more: object): WireLine => agentLine({ ...item, ...more });
  expect(direction(of({ kind: 'answer', status: 200 }))).toBe('agent → hub');
  expect(of({ kind: 'answer', status: 200 }).head).toBe('HTTP 200');
  expect(of({ kind: 'event', id: '7' }).head).toBe('id 7');
  expect(of({ kind: 'failed', why: 'no way' })).toMatchObject({ way: 'note', head: 'no way' });
  expect(of({ is_cut: true, bytes: 99 }).body).toContain('… 99 bytes in all');
});

test('only what is JSON is put on lines', () => {
  expect(prettyBody('[1,2]')).toBe('[\n  1,\n  2\n]');
  expect(prettyBody('{not')).toBe('{not');
  expect(prettyBody('Message {\n}')).toBe('Message {\n}');
});

test('both legs stand in the order of time', () => {
  const at = (key: string, time: number): WireLine => ({ ...agentLine(item), key, at: time });
  const keys = merged([at('a', 1), at('c', 3)], [at('b', 2)]).map((line) => line.key);
  expect(keys).toEqual(['a', 'b', 'c']);
});
