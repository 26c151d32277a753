// The visibility of the page: a hidden one releases its connection after a while.

import { LONGEST_TIMER } from './backoff.js';

/** Watches the page; where there is none (Node, workers) it always counts as shown. */
export class Visibility {
  #isReleased = false;
  #timer;
  #shown = () => {};
  #stop = new AbortController();

  /** @param after seconds that the page is hidden before `onRelease` is called; false: never. */
  constructor(after, onRelease) {
    if (after === false || typeof document === 'undefined') return;
    const check = () => {
      clearTimeout(this.#timer);
      if (document.visibilityState !== 'hidden') this.#show();
      else this.#timer = setTimeout(() => this.#release(onRelease), Math.min(LONGEST_TIMER, after * 1000));
    };
    document.addEventListener('visibilitychange', check, { signal: this.#stop.signal });
    check();
  }

  /** Resolves at once unless the page has released its connection, else when it is shown again. */
  async shown() {
    if (this.#isReleased) await new Promise((resolve) => { this.#shown = resolve; });
  }

  close() {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  #release(onRelease) {
    this.#isReleased = true;
    onRelease();
  }

  #show() {
    this.#isReleased = false;
    this.#shown();
  }
}
