/** A clock that ticks every second, for as long as somebody looks. */
class Seconds {
  now = $state(Date.now());
  #watchers = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Keeps it going until the returned function is called: the shape of an `$effect`. */
  watch(): () => void {
    if (this.#watchers++ === 0) {
      this.now = Date.now();
      this.#timer = setInterval(() => (this.now = Date.now()), 1000);
    }
    return () => {
      if (--this.#watchers === 0) clearInterval(this.#timer);
    };
  }
}

export const seconds = new Seconds();
