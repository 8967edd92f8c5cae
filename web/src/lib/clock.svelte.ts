// The time, for everything that says how long ago it was. It moves every few seconds.

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => (this.now = Date.now()), 5000);
  }
}

export const time = new Clock();
