// What happens at the hub, once for all screens: one stream, many who listen.

import { address, type Schemas } from './api';
import { session } from './session.svelte';
import { follow, type Link } from './sse';

export type HubEvent = Schemas['EventView'];
type Listener = (event: HubEvent) => void;

/** A line that breaks and is back at once is not worth a word. */
const MOMENT = 3000;

class Live {
  /** How the stream is; screens show `reconnecting` honestly. */
  link = $state<Link>('connecting');
  /** Counts how often the stream came back: what was read before may be old. */
  returns = $state(0);
  /** When the hub was last heard, if that is more than a moment ago. */
  lostSince = $state<number>();

  #listeners = new Set<Listener>();
  #returners = new Set<() => void>();
  #stop: (() => void) | undefined;
  #wasLive = false;
  #heard = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    this.#stop ??= follow({
      url: () => address('/api/v1/events'),
      onFrame: (frame) => {
        const event = parse(frame.data);
        if (event) for (const listener of this.#listeners) listener(event);
      },
      onLink: (link, problem) => {
        // Whoever is no longer let in is told how to come back.
        if (problem?.status === 401) void session.load();
        if (link === 'live') {
          if (this.#wasLive) {
            this.returns += 1;
            for (const act of this.#returners) act();
          }
          this.#wasLive = true;
        }
        if (link === 'refused') this.#stop = undefined;
        if (this.link === 'live') this.#heard = Date.now();
        this.link = link;
        this.#watch();
      },
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #watch(): void {
    if (this.link === 'connecting' || this.link === 'reconnecting') {
      this.#timer ??= setTimeout(() => (this.lostSince = this.#heard), MOMENT);
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.lostSince = undefined;
  }

  /** Acts whenever the stream came back: the shape of an `$effect`, for what is no component. */
  onReturn(act: () => void): () => void {
    this.#returners.add(act);
    return () => this.#returners.delete(act);
  }

  /** Listens until the returned function is called: the shape of an `$effect`. */
  on(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function parse(text: string): HubEvent | undefined {
  try {
    return JSON.parse(text) as HubEvent;
  } catch {
    return undefined;
  }
}

export const live = new Live();
