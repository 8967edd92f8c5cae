// How the same is done in a terminal.

import { hubUrl } from './api';

/** Makes one word of a shell of any text. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export interface CurlOptions {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Makes a line of curl. The key is named, never shown. */
export function curlLine(path: string, options: CurlOptions = {}): string {
  const words = ['curl -s', quote(hubUrl(path).href), '-H "Authorization: Bearer $NUNCIO_KEY"'];
  const headers = { ...options.headers };
  if (options.method) words.push('-X', options.method);
  if (options.body !== undefined) headers['Content-Type'] ??= 'application/json';
  for (const [name, value] of Object.entries(headers)) words.push('-H', quote(`${name}: ${value}`));
  if (options.body !== undefined) words.push('-d', quote(JSON.stringify(options.body)));
  return words.join(' ');
}
