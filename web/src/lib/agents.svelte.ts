// All agents of the hub, kept as they are: most screens name some.

import { api, Problem, type Schemas } from './api';
import { live } from './live.svelte';

export type Agent = Schemas['AgentView'];

/** More are not held at once; the catalogue says so. */
const MOST = 5000;
const PAGE = 500;

class Agents {
  all = $state.raw<Agent[]>([]);
  isLoaded = $state(false);
  /** Whether there are more than are held. */
  isCut = $state(false);
  problem = $state.raw<Problem>();

  #byId = $derived(new Map(this.all.map((agent) => [agent.id, agent])));
  #byName = $derived(new Map(this.all.map((agent) => [agent.name, agent])));
  #timer: ReturnType<typeof setTimeout> | undefined;
  #started = false;
  #round = 0;

  /** Finds an agent by its id or name. */
  find(text: string | null | undefined): Agent | undefined {
    return text ? (this.#byId.get(text) ?? this.#byName.get(text)) : undefined;
  }

  childrenOf(id: string | null): Agent[] {
    return this.all.filter((agent) => (agent.parent ?? null) === id);
  }

  /** Returns everything below an agent. */
  below(id: string): Set<string> {
    const found = new Set<string>();
    const add = (parent: string): void => {
      for (const child of this.childrenOf(parent)) {
        if (found.has(child.id)) continue;
        found.add(child.id);
        add(child.id);
      }
    };
    add(id);
    return found;
  }

  /** Begins to hold them; the first who needs them does so. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    void this.load();
    live.onReturn(() => this.soon());
    live.on((event) => {
      if (event.event === 'TASK_UPDATED' || event.event === 'WORKSPACE_HEARTBEAT') this.soon(2000);
      else if (/^(WORKSPACE|AGENT)_/.test(event.event)) this.soon(200);
    });
  }

  soon(delay = 200): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.load();
    }, delay);
  }

  async load(): Promise<void> {
    const round = ++this.#round;
    try {
      const found: Agent[] = [];
      let after: string | undefined;
      do {
        const page = await api.get('/api/v1/agents', { query: { limit: PAGE, after } });
        found.push(...page.agents);
        after = page.next ?? undefined;
      } while (after !== undefined && found.length < MOST);
      if (round !== this.#round) return;
      this.all = found;
      this.isCut = after !== undefined;
      this.problem = undefined;
      this.isLoaded = true;
    } catch (error) {
      if (round === this.#round) this.problem = Problem.of(error);
    }
  }
}

export const agents = new Agents();
