import { expect, it } from 'vitest';

import { lint } from './lint';

const good = {
  name: 'w',
  description: 'Writes.',
  version: '1.0.0',
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  supportedInterfaces: [
    { url: 'https://w.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  skills: [{ id: 's', name: 'S', description: 'Does it.', tags: ['x'] }],
};
const codes = (change: object): string[] => lint({ ...good, ...change }).map((one) => one.code);

it('finds what will hurt', () => {
  expect(codes({})).toEqual([]);
  expect(codes({ name: '', skills: [] })).toEqual(['no-name', 'no-skills']);
  const at = (url: string): object => ({
    supportedInterfaces: [{ ...good.supportedInterfaces[0], url }],
  });
  expect(codes(at('http://0.0.0.0:1'))).toEqual(['unspecified-address']);
  expect(codes(at('http://w.example'))).toEqual(['not-https']);
  expect(codes(at('http://127.0.0.1:9'))).toEqual([]);
  expect(codes({ description: 'pay\u202e' })).toEqual(['hidden-character']);
});
