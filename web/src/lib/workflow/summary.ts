/** What a node does, in a line. */

import type { Artifact } from '../a2a';
import type { GraphEdge, GraphNode } from './graph';
import type { Json } from './types';

export function summary(node: GraphNode): string {
  const { config } = node;
  switch (node.type) {
    case 'external': {
      const whom = [config.agent, config.capability, config.card, config.endpoint_url].map(text);
      return join(whom.find((name) => name !== '') ?? '', text(config.prompt));
    }
    case 'agent':
      return join(text(config.model), text(config.prompt));
    case 'tool':
      return text(config.tool);
    case 'command':
      return join(text(config.command), text(config.prompt));
    case 'http':
      return `${text(config.method) || 'GET'} ${text(config.url)}`;
    case 'map':
      return `for each of ${text(config.over)}`;
    case 'wait':
      return config.until ? `until ${text(config.until)}` : `for ${text(config.for)}`;
    case 'workflow':
      return text(config.workflow);
    default:
      return text(config.prompt) || text(config.label) || text(config.description);
  }
}

/** What an edge asks for, in a few words; nothing if it only leads on. */
export function edgeWords(edge: GraphEdge): string {
  const words: string[] = [];
  if (edge.loop) words.push(`↻ up to ${edge.loop.max_iterations ?? 10}×`);
  if (edge.trigger === 'on_failure') words.push('on failure');
  if (edge.trigger === 'always') words.push('always');
  if (edge.condition) words.push(`if ${edge.condition}`);
  if (edge.loop?.exit_when) words.push(`until ${edge.loop.exit_when}`);
  return words.join(' · ');
}

/** The first words that artifacts have. */
export function firstWords(artifacts: Artifact[] | undefined): string {
  for (const artifact of artifacts ?? []) {
    for (const part of artifact.parts) {
      if (part.text) return part.text;
      if (part.data !== undefined) return JSON.stringify(part.data);
      if (part.filename ?? part.url) return part.filename ?? part.url ?? '';
    }
  }
  return '';
}

function join(...words: string[]): string {
  return words.filter((word) => word !== '').join(': ');
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
