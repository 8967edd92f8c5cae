/** Forms made from the JSON Schema of the file format. */

import schema from '../../../../docs/reference/workflow.schema.json';
import type { Json } from './types';

/** How a value is typed in. */
export type Kind =
  | 'line'
  | 'text'
  | 'texts'
  | 'duration'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'record'
  | 'object'
  | 'body'
  | 'json';

export interface Field {
  name: string;
  kind: Kind;
  description: string;
  required: boolean;
  choices: string[];
  min: number | null;
  max: number | null;
  /** Only whole numbers will do. */
  whole: boolean;
  /** What an object is made of. */
  fields: Field[];
}

interface Schema {
  type?: string | string[];
  description?: string;
  enum?: Json[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

const root = schema as unknown as Schema;
const DURATION = String.raw`^(\d+(ms|s|m|h|d))+$`;
/** Texts that take more than a line. */
const LONG = new Set(['prompt', 'system_prompt', 'output', 'description']);
/** What every node has, shown last. */
export const COMMON = new Set(['label', 'description', 'timeout', 'retry', 'on_error']);

/** What people look for first stands first; the rest follows as the schema has it. */
const ORDER = [
  ...['agent', 'capability', 'card', 'model', 'method', 'for', 'until', 'inputs', 'input'],
  ...['system_prompt', 'prompt', 'default', 'optional', 'headers', 'body', 'options', 'gather'],
  ...['tools', 'format', 'schema', 'label', 'description', 'timeout', 'retry', 'on_error'],
];

export interface TypeInfo {
  name: string;
  description: string;
}

/** The types that the palette offers; older names and uploaded files are left to the text. */
export const TYPES: TypeInfo[] = (
  [
    'input',
    'agent',
    'external',
    'tool',
    'command',
    'http',
    'map',
    'wait',
    'approval',
    'workflow',
    'output',
  ] as const
).map((name) => ({ name, description: configSchema('Node', name)?.description ?? '' }));

/** The types that can stand in `do` of a `map`. */
export const BODY_TYPES = (root.$defs?.Body?.properties?.type?.enum ?? []) as string[];

/** The members of `config` for a type of node; nothing if nobody knows the type. */
export function configFields(type: string, within: 'Node' | 'Body' = 'Node'): Field[] {
  const found = configSchema(within, type);
  if (!found) return [];
  const fields = fieldsOf(found);
  const rank = (field: Field) => {
    const at = ORDER.indexOf(field.name);
    if (COMMON.has(field.name)) return 100 + at;
    return (field.required ? 0 : 50) + (at < 0 ? ORDER.length : at);
  };
  return fields.sort((a, b) => rank(a) - rank(b));
}

/** The members of the file itself that a form can hold. */
export function fileFields(): Field[] {
  return fieldsOf(root).filter(
    (field) => !['nodes', 'edges', 'groups', 'version', 'name'].includes(field.name),
  );
}

/** What a new node of a type begins with, so that somebody sees what is missing. */
export function starter(type: string): Record<string, Json> {
  switch (type) {
    case 'wait':
      return { for: '10s' };
    case 'map':
      return { over: '', do: { type: 'external', config: { agent: '' } } };
    case 'external':
      return { agent: '' };
    default: {
      const needed = configFields(type).filter((field) => field.required);
      return Object.fromEntries(needed.map((field) => [field.name, '']));
    }
  }
}

function configSchema(within: 'Node' | 'Body', type: string): Schema | null {
  for (const rule of root.$defs?.[within]?.allOf ?? []) {
    if (rule.if?.properties?.type?.enum?.includes(type)) {
      return resolve(rule.then?.properties?.config ?? {});
    }
  }
  return null;
}

function resolve(found: Schema): Schema {
  if (!found.$ref) return found;
  const target = root.$defs?.[found.$ref.replace('#/$defs/', '')] ?? {};
  return { ...target, ...found };
}

function fieldsOf(parent: Schema): Field[] {
  return Object.entries(parent.properties ?? {}).map(([name, raw]) => {
    const found = resolve(raw);
    const kind = kindOf(name, raw, found);
    return {
      name,
      kind,
      description: raw.description ?? found.description ?? '',
      required: parent.required?.includes(name) ?? false,
      choices: (found.enum ?? []).map(String),
      min: found.minimum ?? null,
      max: found.maximum ?? null,
      whole: found.type === 'integer',
      fields: kind === 'object' ? fieldsOf(found) : [],
    };
  });
}

function kindOf(name: string, raw: Schema, found: Schema): Kind {
  if (raw.$ref === '#/$defs/Body') return 'body';
  if (found.enum) return 'choice';
  if (found.oneOf) return name === 'prompt' ? 'texts' : 'json';
  if (found.type === 'integer' || found.type === 'number') return 'number';
  if (found.type === 'boolean') return 'boolean';
  if (found.type === 'array') return 'list';
  if (found.type === 'object') {
    if (found.properties) return 'object';
    return (found.additionalProperties as Schema | undefined)?.type === 'string'
      ? 'record'
      : 'json';
  }
  if (found.type === 'string') {
    if (found.pattern === DURATION) return 'duration';
    return LONG.has(name) ? 'text' : 'line';
  }
  return 'json';
}
