import { describe, expect, it } from 'vitest';

import { BODY_TYPES, configFields, fileFields, starter, TYPES } from './fields';

function kinds(type: string): Record<string, string> {
  return Object.fromEntries(configFields(type).map((field) => [field.name, field.kind]));
}

describe('forms from the schema', () => {
  it('every type of the palette has a form and says what it is for', () => {
    for (const type of TYPES) {
      expect(configFields(type.name).length, type.name).toBeGreaterThan(4);
      expect(type.description, type.name).not.toBe('');
    }
    expect(configFields('nonsense')).toEqual([]);
    expect(BODY_TYPES).toContain('external');
  });

  it('knows how each value is typed in', () => {
    expect(kinds('external')).toMatchObject({
      agent: 'line',
      prompt: 'texts',
      timeout: 'duration',
    });
    expect(kinds('agent')).toMatchObject({
      temperature: 'number',
      format: 'choice',
      tools: 'list',
      schema: 'json',
      system_prompt: 'text',
      retry: 'object',
    });
    expect(kinds('http')).toMatchObject({ method: 'choice', headers: 'record', body: 'json' });
    expect(kinds('map')).toMatchObject({ do: 'body', over: 'line' });
    expect(kinds('input')).toMatchObject({ optional: 'boolean' });
  });

  it('puts what is needed first and what all have last', () => {
    const names = configFields('http').map((field) => field.name);
    expect(names[0]).toBe('url');
    expect(names.slice(-5)).toEqual(['label', 'description', 'timeout', 'retry', 'on_error']);
  });

  it('begins with what is needed', () => {
    expect(starter('http')).toEqual({ url: '' });
    expect(starter('input')).toEqual({});
    expect(starter('wait')).toEqual({ for: '10s' });
  });

  it('has the members of the file', () => {
    expect(fileFields().map((field) => field.name)).toEqual([
      'description',
      'max_parallel',
      'on_error',
      'timeout',
    ]);
  });
});
