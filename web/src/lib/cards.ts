// Cards, looked at by the hub before anything is kept.

import { call, type Schemas } from './api';
import type { Card } from './a2a';

export type Problems = Schemas['ProblemView'][];

/** Returns what is wrong with a card; nothing if the hub cannot read it at all. */
export async function problemsOf(card: Card): Promise<Problems> {
  const body = { card };
  const looked = await call<Schemas['Looked']>('post', '/api/v1/cards/check', { body });
  return looked.problems;
}
