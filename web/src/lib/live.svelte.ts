// What happens at the hub, once for all screens: one stream, many who listen.

import { address, type Schemas } from './api';
import { session } from './session.svelte';
import { follow, type Link } from './sse';

export type HubEvent = Schemas['EventView'];
type Listener = (event: HubEvent) => void;

class Live {
  /** How the stream is; screens show `reconnecting` honestly. */
  link = $state<Link>('connecting');
  /** Counts how often the stream came back: what was read before may be old. */
  returns = $state(0);

  #listeners = new Set<Listener>();
  #stop: (() => void) | undefined;
  #wasLive = false;

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
          if (this.#wasLive) this.returns += 1;
          this.#wasLive = true;
        }
        if (link === 'refused') this.#stop = undefined;
        this.link = link;
      },
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
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
