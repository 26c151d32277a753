// The pages of a browser that use the same name: messages among them, and locks that only one has.
//
// Without Web Locks (Node, pages that are not served by HTTPS or loopback) a page is on its own.

import { packed, unpacked } from './json.js';

/** After this long a lock is taken from a page that the browser has suspended. */
const LONGEST_HOLD = 60_000;

export const canShare = () => typeof document !== 'undefined'
  && typeof BroadcastChannel !== 'undefined' && globalThis.navigator?.locks !== undefined;

export class Pages {
  id = randomText();
  #name;
  #channel;
  #closed = new AbortController();
  /** Resolves when the other pages can see that this one is open. */
  ready = Promise.resolve();

  /** @param onMessage called with what other pages post. */
  constructor(name, onMessage) {
    this.#name = name;
    if (!canShare()) return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => onMessage(unpacked(data));
    this.ready = this.#hold(this.#lockOf(this.id));
  }

  post(message) {
    this.#channel?.postMessage(packed(message));
  }

  /** Runs `body` while no other page runs one. */
  async exclusively(body) {
    if (!this.#channel) return body();
    const lock = `${this.#name} work`;
    const signal = AbortSignal.timeout(LONGEST_HOLD);
    let hasBegun = false;
    const run = () => {
      hasBegun = true;
      return body();
    };
    try {
      return await navigator.locks.request(lock, { signal }, run);
    } catch (error) {
      if (hasBegun || !signal.aborted) throw error;
      return navigator.locks.request(lock, { steal: true }, run);
    }
  }

  /** True while the page of this id is open. */
  async isOpen(id) {
    if (!this.#channel) return id === this.id;
    const { held } = await navigator.locks.query();
    return held.some(({ name }) => name === this.#lockOf(id));
  }

  /** Resolves when the page of this id is gone; rejects when the signal is aborted before. */
  closed(id, signal) {
    return navigator.locks.request(this.#lockOf(id), { signal }, () => {});
  }

  close() {
    this.#closed.abort();
    this.#channel?.close();
    this.#channel = undefined;
  }

  #lockOf(id) {
    return `${this.#name} page ${id}`;
  }

  #hold(name) {
    const held = new Promise((resolve) => this.#closed.signal.addEventListener('abort', resolve));
    return new Promise((granted) => {
      navigator.locks.request(name, () => {
        granted();
        return held;
      });
    });
  }
}

/** 96 random bits as text; `crypto.randomUUID` is not there on pages without HTTPS. */
export function randomText() {
  return hex(crypto.getRandomValues(new Uint8Array(12)));
}

/** Bytes as hexadecimal digits. */
export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
