import { expect, it } from 'vitest';

import { findOptions } from './form';

const asked = (metadata?: Record<string, unknown>) =>
  findOptions({ messageId: 'm', role: 'ROLE_AGENT', parts: [], ...(metadata && { metadata }) });

it('finds what a question says may be answered, and nothing else', () => {
  expect(asked({ options: ['ship', 'wait', 'ship'] })).toEqual(['ship', 'wait']);
  expect(asked({ options: ['ship', 3, null] })).toEqual(['ship']);
  expect(asked({ options: { ship: true } })).toEqual([]);
  expect(asked()).toEqual([]);
  expect(findOptions(undefined)).toEqual([]);
});
