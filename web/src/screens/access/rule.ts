import { agents } from '../../lib/agents.svelte';

/** A side of a rule, as the hub has it. */
export type Side = 'any' | { agent: string } | { team: string } | { user: string };

export interface Rule {
  id: string;
  effect: 'allow' | 'deny';
  caller: Side;
  target: Side;
  operations?: string[];
  skills?: string[];
  note?: string;
}

/** Says whom a side means, by names. */
export function sideText(side: Side): string {
  if (side === 'any') return 'anybody';
  if ('agent' in side) return agents.find(side.agent)?.name ?? side.agent;
  if ('team' in side) return `${agents.find(side.team)?.name ?? side.team} and all below`;
  return side.user;
}

/** Writes a side as the command line has it: `*`, `team:lead`, `user:ann`, `writer`. */
export function sideWord(side: Side): string {
  if (side === 'any') return '*';
  if ('agent' in side) return agents.find(side.agent)?.name ?? side.agent;
  if ('team' in side) return `team:${agents.find(side.team)?.name ?? side.team}`;
  return `user:${side.user}`;
}

/** Reads a side from such a word. */
export function readSide(word: string): Side {
  const text = word.trim();
  if (text === '' || text === '*' || text === 'any') return 'any';
  const [kind, name] = text.split(/:(.*)/s);
  if (name !== undefined && kind === 'team') return { team: name };
  if (name !== undefined && kind === 'user') return { user: name };
  if (name !== undefined && kind === 'agent') return { agent: name };
  return { agent: text };
}
