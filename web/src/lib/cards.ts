// Cards, looked at by the hub before anything is kept.

import { call, type Schemas } from './api';
import type { Card } from './a2a';

export type Problems = Schemas['ProblemView'][];

/**
 * Returns what is wrong with a card; nothing if the hub cannot read it at all. An agent that the hub
 * runs itself is reached by the hub alone, so its card names no address, and is right not to.
 */
export async function problemsOf(card: Card, isHosted: boolean): Promise<Problems> {
  const body = { card };
  const looked = await call<Schemas['Looked']>('post', '/api/v1/cards/check', { body });
  return isHosted ? looked.problems.filter(({ code }) => code !== 'no-interface') : looked.problems;
}
