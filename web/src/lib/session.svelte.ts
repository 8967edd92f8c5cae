// Who sits here, as the hub sees it.

import { api, Problem, type Schemas } from './api';

class Session {
  who = $state<Schemas['WhoAmI']>();
  problem = $state<Problem>();

  /** Whether things can be changed here; the hub decides anyway. */
  get mayChange(): boolean {
    return this.who?.role === 'administrator';
  }

  async load(): Promise<void> {
    try {
      this.who = await api.get('/api/v1/whoami');
      this.problem = undefined;
    } catch (error) {
      this.problem = Problem.of(error);
    }
  }
}

export const session = new Session();
