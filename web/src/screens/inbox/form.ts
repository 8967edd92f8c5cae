import type { Message } from '../../lib/a2a';
import type { Schema } from '../../ui/SchemaForm.svelte';

const MEMBERS = ['schema', 'formSchema', 'form_schema', 'form'];

function isSchema(value: unknown): value is Schema {
  if (typeof value !== 'object' || value === null) return false;
  const schema = value as Schema;
  return schema.type === 'object' && typeof schema.properties === 'object';
}

function named(value: unknown): Schema | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  return MEMBERS.map((name) => fields[name]).find(isSchema);
}

/** Returns what may be answered, where a question says so in its metadata, as approvals do. */
export function findOptions(message: Message | undefined): string[] {
  const options = message?.metadata?.options;
  if (!Array.isArray(options)) return [];
  return [...new Set(options)].filter((option) => typeof option === 'string');
}

/** Finds the form of a question where agents put it, as the hub's inbox does. */
export function findForm(message: Message | undefined): Schema | undefined {
  if (!message) return undefined;
  const metadata = [message.metadata, ...message.parts.map((part) => part.metadata)];
  const datas = message.parts.map((part) => part.data);
  return (
    metadata.map(named).find(Boolean) ?? datas.map(named).find(Boolean) ?? datas.find(isSchema)
  );
}
