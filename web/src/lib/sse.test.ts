import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

class Page extends EventTarget {
  baseURI = 'http://hub.example/ui/';
  visibilityState = 'visible';

  turn(state: 'visible' | 'hidden'): void {
    this.visibilityState = state;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

const page = new Page();
vi.stubGlobal('document', page);
vi.stubGlobal('window', new EventTarget());
const { follow, FrameReader, pause, tryNow } = await import('./sse');

describe('frames', () => {
  it('are the same however the text is cut', () => {
    const text =
      'retry: 1\n: hello\n\nid: 7\nevent: x\ndata: {"a":1}\n\nid:8\r\ndata: b\r\ndata: c\r\n\r\n';
    const expected = [
      { id: '7', event: 'x', data: '{"a":1}' },
      { id: '8', event: '', data: 'b\nc' },
    ];
    for (let size = 1; size <= text.length; size += 1) {
      const reader = new FrameReader();
      const frames = [];
      for (let at = 0; at < text.length; at += size) {
        frames.push(...reader.push(text.slice(at, at + size)));
      }
      expect(frames).toEqual(expected);
    }
  });

  it('are not told before they are whole', () => {
    const reader = new FrameReader();
    expect(reader.push('data: a\n')).toEqual([]);
    expect(reader.push('\n')).toEqual([{ id: undefined, event: '', data: 'a' }]);
  });
});

describe('pauses', () => {
  it('grow, and stay below half a minute', () => {
    expect([0, 1, 2, 10].map((attempt) => pause(attempt, 1))).toEqual([1000, 2000, 4000, 30_000]);
    expect(pause(3, 0)).toBe(4000);
  });
});

describe('a stream', () => {
  /** Every request that was made, with the end of it that the hub holds. */
  let requests: { after: string | null; say: (text: string) => void; isOpen: () => boolean }[] = [];
  let links: string[] = [];
  let status = 200;
  let stop = (): void => undefined;

  beforeEach(() => {
    vi.useFakeTimers();
    requests = [];
    links = [];
    status = 200;
    page.visibilityState = 'visible';
    vi.stubGlobal('fetch', (_: URL, init: RequestInit) => {
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
      const body = new ReadableStream<Uint8Array>({
        start: (made) => {
          controller = made;
          init.signal?.addEventListener('abort', () => made.error(new Error('aborted')));
        },
      });
      requests.push({
        after: new Headers(init.headers).get('last-event-id'),
        say: (text) => controller?.enqueue(new TextEncoder().encode(text)),
        isOpen: () => init.signal?.aborted === false,
      });
      return Promise.resolve(new Response(status === 200 ? body : '{}', { status }));
    });
  });

  afterEach(() => {
    stop();
    vi.useRealTimers();
  });

  function begin(): void {
    stop = follow({
      url: () => new URL('http://hub.example/api/v1/events'),
      onFrame: () => undefined,
      onLink: (link) => links.push(link),
    });
  }

  it('is let go when nobody looks, and goes on behind what was seen', async () => {
    begin();
    await vi.advanceTimersByTimeAsync(0);
    requests[0]?.say('id: 7\ndata: {}\n\n');
    await vi.advanceTimersByTimeAsync(0);

    page.turn('hidden');
    await vi.advanceTimersByTimeAsync(4900);
    expect(requests[0]?.isOpen()).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(requests[0]?.isOpen()).toBe(false);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(requests).toHaveLength(1);

    page.turn('visible');
    await vi.advanceTimersByTimeAsync(0);
    expect(requests.map(({ after }) => after)).toEqual([null, '7']);
    expect(links).toEqual(['connecting', 'live', 'resting', 'connecting', 'live']);
  });

  it('outlives a glance elsewhere', async () => {
    begin();
    await vi.advanceTimersByTimeAsync(0);
    page.turn('hidden');
    await vi.advanceTimersByTimeAsync(3000);
    page.turn('visible');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.isOpen()).toBe(true);
  });

  it('of a page in the background begins when somebody looks', async () => {
    page.visibilityState = 'hidden';
    begin();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(requests).toHaveLength(0);
    page.turn('visible');
    await vi.advanceTimersByTimeAsync(0);
    expect(requests).toHaveLength(1);
  });

  it('goes on as soon as somebody has logged in again', async () => {
    status = 401;
    begin();
    await vi.advanceTimersByTimeAsync(0);
    expect(links).toEqual(['connecting', 'reconnecting']);
    status = 200;
    tryNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(links.at(-1)).toBe('live');
  });
});
