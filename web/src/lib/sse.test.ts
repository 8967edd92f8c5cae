import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { baseURI: 'http://hub.example/ui/' });
const { FrameReader, pause } = await import('./sse');

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
