// Who sits here, as the hub sees it.

import { api, Problem, type Schemas } from './api';
import { tryNow } from './sse';

class Session {
  who = $state<Schemas['WhoAmI']>();
  problem = $state<Problem>();

  /** Whether things can be changed here; the hub decides anyway. */
  get mayChange(): boolean {
    return this.who?.role === 'administrator';
  }

  /** Whether one may speak with agents, answer them and run workflows. */
  get mayAct(): boolean {
    return this.who !== undefined && this.who.role !== 'viewer';
  }

  /** Whether nobody is logged in, or no longer. */
  get isOut(): boolean {
    return this.problem?.status === 401;
  }

  /** Whether this browser came in by a link, and can go out again. */
  get mayLogOut(): boolean {
    return this.who?.browser ?? false;
  }

  async logOut(): Promise<void> {
    await api.post('/api/v1/logout');
    // Nothing that was seen here stays in this tab.
    window.location.reload();
  }

  async load(): Promise<void> {
    try {
      this.who = await api.get('/api/v1/whoami');
      if (this.problem) tryNow();
      this.problem = undefined;
    } catch (error) {
      this.problem = Problem.of(error);
    }
  }
}

export const session = new Session();
