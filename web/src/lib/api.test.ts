import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { baseURI: 'http://hub.example/ui/' });
const { call } = await import('./api');

describe('a call', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A hub that takes calls and says nothing. */
  function silence(): void {
    vi.stubGlobal(
      'fetch',
      (_: URL, init: RequestInit) =>
        new Promise((_, reject) => {
          const refuse = (): void => reject(new DOMException('aborted', 'AbortError'));
          if (init.signal?.aborted) refuse();
          init.signal?.addEventListener('abort', refuse);
        }),
    );
  }

  it('gives up on a hub that says nothing, and says what it may be', async () => {
    silence();
    const answer = expect(call('get', '/api/v1/agents')).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/does not answer; other tabs .* all connections/) as string,
    });
    await vi.advanceTimersByTimeAsync(30_000);
    await answer;
  });

  it('waits longer where that is asked for', async () => {
    silence();
    let isOver = false;
    const answer = call('post', '/api/v1/doctor', { patience: 150_000 })
      .catch(() => undefined)
      .finally(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(149_000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    await answer;
  });

  it('that is taken back is no failure of the hub', async () => {
    silence();
    const cut = new AbortController();
    const answer = expect(call('get', '/x', { signal: cut.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    cut.abort();
    await answer;
    await expect(call('get', '/x', { signal: cut.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it('reads what the hub says, and why it would not', async () => {
    const answers = [
      new Response('{"name":"writer"}'),
      new Response(null, { status: 204 }),
      new Response('{"code":"NO_AGENT","detail":"no such agent"}', { status: 404 }),
    ];
    vi.stubGlobal('fetch', () => Promise.resolve(answers.shift()));
    expect(await call('get', '/x')).toEqual({ name: 'writer' });
    expect(await call('get', '/x')).toBeUndefined();
    await expect(call('get', '/x')).rejects.toMatchObject({ status: 404, code: 'NO_AGENT' });
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    await expect(call('get', '/x')).rejects.toMatchObject({ message: 'the hub does not answer' });
  });
});
