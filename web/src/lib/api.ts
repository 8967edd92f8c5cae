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
  /** How long to wait for the whole answer, in milliseconds. */
  patience?: number;
}

/** What the hub does by itself takes less by far. */
export const PATIENCE = 30_000;
/** For calls in which the hub itself waits for an agent. */
export const LONG_PATIENCE = 100_000;

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
  if (options.body !== undefined) {
    headers['content-type'] ??= 'application/json';
    init.body = JSON.stringify(options.body);
  }
  const { response, text } = await reach(address(path, options), init, options);
  if (!response.ok) throw refused(response, text);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Fetches a whole answer; where there is none, the error says so in our words. */
export async function reach(
  url: URL,
  init: RequestInit,
  { signal, patience = PATIENCE }: Pick<Options, 'signal' | 'patience'> = {},
): Promise<{ response: Response; text: string }> {
  const cut = new AbortController();
  const abort = (): void => cut.abort();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort();
  }, patience);
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  try {
    const response = await fetch(url, { ...init, signal: cut.signal });
    return { response, text: await response.text() };
  } catch (error) {
    // A browser has six connections to a hub for all its tabs: the seventh call just waits.
    if (isLate) {
      const why = 'other tabs of it in this browser may hold all connections, so close some';
      throw new Problem(0, 'UNREACHABLE', `the hub does not answer; ${why}`);
    }
    if (signal?.aborted) throw error;
    throw new Problem(0, 'UNREACHABLE', 'the hub does not answer');
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Reads why the hub would not. */
export async function refusal(response: Response): Promise<Problem> {
  return refused(response, await response.text().catch(() => ''));
}

function refused(response: Response, text: string): Problem {
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
