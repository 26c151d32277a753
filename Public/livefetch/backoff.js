// The wait before the next attempt.

const SHORTEST = 250;
const LONGEST = 20_000;
/** The most milliseconds that a timer takes: it fires at once for more. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Waits, longer after each failure, at random so that clients do not come back all at once; ends
 * early when the signal, if there is one, is aborted, or the network is back and the server has not requested the wait.
 */
export class Backoff {
  #failures = 0;
  #end = () => {};
  /** True if the server has requested the current wait. */
  #isRequested = false;

  succeeded() {
    this.#failures = 0;
  }

  /** Ends the current wait, but not one that the server has requested. */
  hurry() {
    if (!this.#isRequested) this.#end();
  }

  /** Ends the current wait. */
  end() {
    this.#end();
  }

  /** @param atLeast the least pause in seconds, which the server requested. */
  async wait(signal, atLeast = 0) {
    if (signal?.aborted) return;
    const most = Math.min(LONGEST, SHORTEST * 2 ** this.#failures);
    this.#failures += 1;
    this.#isRequested = atLeast > 0;
    const delay = Math.min(LONGEST_TIMER, Math.max(atLeast * 1000, most * (0.5 + Math.random() / 2)));
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
      signal?.addEventListener('abort', this.#end, { once: true });
    });
    signal?.removeEventListener('abort', this.#end);
  }
}

/** Calls `wake` when the network or the computer is back; returns how to stop that. */
export function onWaking(wake) {
  if (typeof globalThis.addEventListener !== 'function') return () => {};
  const stop = new AbortController();
  const visible = () => {
    if (globalThis.document?.visibilityState !== 'hidden') wake();
  };
  globalThis.addEventListener('online', wake, { signal: stop.signal });
  globalThis.addEventListener('pageshow', wake, { signal: stop.signal });
  globalThis.document?.addEventListener('visibilitychange', visible, { signal: stop.signal });
  return () => stop.abort();
}
