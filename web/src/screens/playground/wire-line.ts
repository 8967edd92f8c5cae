// A line of the wire, of either leg: between this browser and the hub, or between hub and agent.

import type { Schemas } from '../../lib/api';

export type Leg = 'browser' | 'agent';

export interface WireLine {
  key: string;
  leg: Leg;
  at: number;
  way: 'out' | 'in' | 'note';
  head: string;
  /** What is spoken, if the head does not say. */
  form?: string;
  headers: string;
  body: string;
}

/** Who speaks to whom. */
export function direction({ leg, way }: WireLine): string {
  if (leg === 'browser') return way === 'in' ? 'hub → browser' : 'browser → hub';
  return way === 'in' ? 'agent → hub' : 'hub → agent';
}

/** Makes a line of what the hub has kept. */
export function agentLine(item: Schemas['WireItem']): WireLine {
  const line: WireLine = {
    key: `a${item.seq}`,
    leg: 'agent',
    at: new Date(item.at).getTime(),
    way: 'in',
    head: '',
    form: item.form,
    headers: (item.headers ?? []).map(({ name, value }) => `${name}: ${value ?? '•••'}`).join('\n'),
    body: prettyBody(item.body ?? ''),
  };
  if (item.is_cut) line.body += `\n… ${item.bytes} bytes in all`;
  switch (item.kind) {
    case 'request':
      return { ...line, way: 'out', head: `${item.method} ${item.path}` };
    case 'answer':
      return { ...line, head: `HTTP ${item.status}` };
    case 'event':
      return { ...line, head: item.id ? `id ${item.id}` : 'data' };
    case 'failed':
      return { ...line, way: 'note', head: item.why ?? 'it failed' };
    case 'left':
      return { ...line, way: 'note', head: 'the hub has hung up' };
    default:
      return { ...line, way: 'note', head: 'the agent has said all' };
  }
}

/** Puts JSON on lines of its own; everything else stays as it is. */
export function prettyBody(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Both legs by time. What happens at the same moment stays as it came. */
export function merged(one: WireLine[], other: WireLine[]): WireLine[] {
  return [...one, ...other].sort((a, b) => a.at - b.at);
}
