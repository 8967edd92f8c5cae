// The wire between the hub and the agent, as the hub has kept it, read while it grows.

import { api, Problem, type Schemas } from '../../lib/api';
import { agentLine, type WireLine } from './wire-line';

/** Asks the hub to keep the wire of a call. */
export const WIRE = 'urn:nuncio:extension:wire:v1';

export class AgentLeg {
  lines = $state.raw<WireLine[]>([]);
  /** Why there is nothing, or not all. */
  note = $state('');

  #task = '';
  #last = 0;
  #isReading = false;

  /** Looks what is new of a task. */
  async read(task: string): Promise<void> {
    if (task !== this.#task) {
      this.#task = task;
      this.#last = 0;
      this.lines = [];
      this.note = '';
    }
    if (!task || this.#isReading) return;
    this.#isReading = true;
    try {
      const seen = await api.get('/api/v1/tasks/{task}/wire', {
        path: { task },
        query: { after: this.#last },
      });
      if (task === this.#task) this.#take(seen);
    } catch (error) {
      this.note = Problem.of(error).message;
    } finally {
      this.#isReading = false;
    }
  }

  #take(seen: Schemas['WireView']): void {
    this.#last = seen.last;
    this.lines = [...this.lines, ...seen.items.map(agentLine)];
    this.note = seen.note ?? (seen.left_out > 0 ? `${seen.left_out} more were not kept` : '');
  }
}
