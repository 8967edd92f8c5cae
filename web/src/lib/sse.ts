// Server-sent events over `fetch`: `EventSource` shows neither why it failed nor when it is cut.

import { Problem, refusal } from './api';

export interface Frame {
  id: string | undefined;
  event: string;
  data: string;
}

/** Makes frames of text that comes in any pieces. */
export class FrameReader {
  #rest = '';
  #id: string | undefined;
  #event = '';
  #data: string[] = [];

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    this.#rest += text;
    // A carriage return at the very end may be half a line break.
    const end = this.#rest.endsWith('\r') ? this.#rest.length - 1 : this.#rest.length;
    const lines = this.#rest.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? '') + this.#rest.slice(end);
    for (const line of lines) {
      if (line !== '') {
        this.#field(line);
      } else {
        if (this.#data.length > 0) {
          frames.push({ id: this.#id, event: this.#event, data: this.#data.join('\n') });
        }
        this.#id = undefined;
        this.#event = '';
        this.#data = [];
      }
    }
    return frames;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.#id = value;
    if (name === 'event') this.#event = value;
    if (name === 'data') this.#data.push(value);
  }
}

/**
 * How a stream is: `resting` was let go because nobody looks, `ended` came from the hub, `refused`
 * means that trying again is in vain.
 */
export type Link = 'connecting' | 'live' | 'reconnecting' | 'resting' | 'ended' | 'refused';

export interface Follow {
  url: () => URL;
  /** The last event that was seen; goes on behind it. */
  after?: string | undefined;
  onFrame: (frame: Frame) => void;
  onLink?: (link: Link, problem?: Problem) => void;
  /** Whether the end of the stream is the end, and not a cut. */
  isOver?: () => boolean;
}

/** The hub speaks every 15 seconds, if only to say that it is there. */
const SILENCE = 40_000;
const LONGEST_WAIT = 30_000;
/**
 * A page that nobody looks at lets go of its streams: a browser has six connections to a hub for all
 * its tabs. Whoever only looks elsewhere for a moment does not notice.
 */
const UNSEEN = 5000;

/** Tells all that wait for their next attempt that it is worth trying now. */
const hope = new EventTarget();

/** Ends all pauses between attempts. */
export function tryNow(): void {
  hope.dispatchEvent(new Event('hope'));
}

/** How long to wait before the nth attempt: twice as long each time, never all at once. */
export function pause(attempt: number, random = Math.random()): number {
  return Math.min(LONGEST_WAIT, 1000 * 2 ** attempt) * (0.5 + random / 2);
}

/** Follows a stream for as long as it lasts, through cuts. Returns what stops it. */
export function follow(options: Follow): () => void {
  const stop = new AbortController();
  let after = options.after;
  const tell = (link: Link, problem?: Problem): void => {
    if (!stop.signal.aborted) options.onLink?.(link, problem);
  };

  const once = async (): Promise<boolean> => {
    const cut = new AbortController();
    const abort = (): void => cut.abort();
    stop.signal.addEventListener('abort', abort);
    let timer = setTimeout(abort, SILENCE);
    const look = whenUnseen(UNSEEN, abort);
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (after !== undefined) headers['last-event-id'] = after;
      const response = await fetch(options.url(), { headers, signal: cut.signal });
      if (response.status === 204) return true;
      if (!response.ok) throw await refusal(response);
      tell('live');
      const reader = new FrameReader();
      const text = new TextDecoder();
      const body = response.body?.getReader();
      while (body) {
        const piece = await body.read();
        if (piece.done) break;
        clearTimeout(timer);
        timer = setTimeout(abort, SILENCE);
        for (const frame of reader.push(text.decode(piece.value, { stream: true }))) {
          if (frame.id !== undefined) after = frame.id;
          if (!stop.signal.aborted) options.onFrame(frame);
        }
      }
      return options.isOver?.() ?? false;
    } finally {
      clearTimeout(timer);
      look();
      stop.signal.removeEventListener('abort', abort);
    }
  };

  void (async () => {
    let attempt = 0;
    tell('connecting');
    while (!stop.signal.aborted) {
      if (isHidden()) {
        tell('resting');
        await shown(stop.signal);
        attempt = 0;
        tell('connecting');
      }
      const seen = after;
      try {
        if (await once()) {
          tell('ended');
          return;
        }
        attempt = 0;
        tell('reconnecting');
      } catch (error) {
        const problem = error instanceof Problem ? error : undefined;
        // Not so 401: a hub that was started anew asks everybody to log in again.
        const isFinal = problem && [400, 403, 404, 410].includes(problem.status);
        if (isFinal) {
          tell('refused', problem);
          return;
        }
        if (after !== seen) attempt = 0;
        if (isHidden()) continue;
        tell('reconnecting', problem);
      }
      await sleep(pause(attempt), stop.signal);
      attempt += 1;
    }
  })();
  return () => stop.abort();
}

/** Waits, but not longer than it makes sense: coming back to the page or to the network ends it. */
function sleep(duration: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      window.removeEventListener('online', done);
      document.removeEventListener('visibilitychange', back);
      hope.removeEventListener('hope', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const back = (): void => {
      if (!isHidden()) done();
    };
    const timer = setTimeout(done, duration);
    window.addEventListener('online', done);
    document.addEventListener('visibilitychange', back);
    hope.addEventListener('hope', done);
    signal.addEventListener('abort', done);
  });
}

function isHidden(): boolean {
  return document.visibilityState === 'hidden';
}

/** Waits until somebody looks at the page. */
function shown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isHidden() && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

/** Acts once nobody has looked at the page for so long. Returns what stops it. */
function whenUnseen(duration: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (isHidden()) timer = setTimeout(act, duration);
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
