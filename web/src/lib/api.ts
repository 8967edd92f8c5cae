// The hub's public API, and nothing but that: every screen goes through here.

import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** The hub is beside the canvas: `…/ui/` and `…/api/v1/`, below whatever path. */
export const HUB = new URL('../', document.baseURI);

/** Returns an address at the hub for a path such as `/api/v1/agents`. */
export function hubUrl(path: string): URL {
  return new URL(path.replace(/^\//, ''), HUB);
}

/** A refusal of the hub, or the lack of any answer. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly field?: string,
    readonly retryAfter?: number,
  ) {
    super(detail);
  }

  /** Whether there was no answer at all. */
  get isUnreachable(): boolean {
    return this.status === 0;
  }

  static of(error: unknown): Problem {
    if (error instanceof Problem) return error;
    const detail = error instanceof Error ? error.message : String(error);
    return new Problem(0, 'UNKNOWN', detail);
  }
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, infer O> ? (O extends object ? P : never) : never;
}[keyof paths];
type Operation<M extends Method, P extends PathOf<M>> =
  paths[P] extends Record<M, infer O> ? O : never;
type Json<C> = C extends { content: { 'application/json': infer B } } ? B : undefined;
type Answer<O> = O extends { responses: infer R }
  ? { [S in keyof R & (200 | 201)]: Json<R[S]> }[keyof R & (200 | 201)]
  : never;
type BodyOf<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : undefined;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Q : never;

export type Scalar = string | number | boolean;
export interface Options<B = unknown, Q = Record<string, unknown>> {
  path?: Record<string, string | number>;
  query?: Q | undefined;
  body?: B | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Makes the address of a call: `{names}` are filled in, what is empty in the query is left out. */
export function address(path: string, options: Options<unknown, unknown> = {}): URL {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(options.path?.[name] ?? '')),
  );
  const url = hubUrl(filled);
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value !== undefined && value !== null && value !== '') {
      url.searchParams.set(name, String(value as Scalar));
    }
  }
  return url;
}

/** Makes any call at all; the typed ones below are to be preferred where the schema has them. */
export async function call<T>(
  method: string,
  path: string,
  options: Options<unknown, unknown> = {},
): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
  const init: RequestInit = { method: method.toUpperCase(), headers, credentials: 'same-origin' };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers['content-type'] ??= 'application/json';
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(address(path, options), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'UNREACHABLE', 'the hub does not answer');
  }
  if (!response.ok) throw await refusal(response);
  if (response.status === 204 || response.headers.get('content-length') === '0') {
    return undefined as T;
  }
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Reads why the hub would not. */
export async function refusal(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '');
  const wait = Number(response.headers.get('retry-after')) || undefined;
  try {
    const body = JSON.parse(text) as Partial<Schemas['Problem']>;
    const detail = body.detail ?? response.statusText;
    return new Problem(response.status, body.code ?? '', detail, body.field ?? undefined, wait);
  } catch {
    return new Problem(response.status, '', text || response.statusText, undefined, wait);
  }
}

function typed<M extends Method>(method: M) {
  return <P extends PathOf<M>>(
    path: P,
    options?: Options<BodyOf<Operation<M, P>>, QueryOf<Operation<M, P>>>,
  ): Promise<Answer<Operation<M, P>>> => call(method, path, options);
}

export const api = {
  get: typed('get'),
  post: typed('post'),
  put: typed('put'),
  patch: typed('patch'),
  delete: typed('delete'),
};
