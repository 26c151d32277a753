// The pages of a browser that use the same name: messages among them, and locks that only one has.
//
// Without Web Locks (Node, pages that are not served by HTTPS or loopback) a page is on its own.

import { packed, unpacked } from './json.js';

/** Milliseconds from one look at the page that holds a lock to the next. */
const CHECK = 20_000;
/** After as many looks at the same page the browser has suspended it, and the lock is taken from it. */
const MOST_CHECKS = 4;

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
    const waiting = new AbortController();
    const ended = new AbortController();
    const end = () => ended.abort();
    let hasBegun = false;
    const run = () => {
      hasBegun = true;
      end();
      return body();
    };
    this.#closed.signal.addEventListener('abort', end, { signal: ended.signal });
    watchHolder(lock, waiting, ended.signal);
    try {
      return await navigator.locks.request(lock, { signal: waiting.signal }, run);
    } catch (error) {
      if (hasBegun || !waiting.signal.aborted) throw error;
      return await navigator.locks.request(lock, { steal: true }, run);
    } finally {
      end();
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

/**
 * Aborts `waiting` when one page has held the lock for too long; until `ended`. The request keeps its place in the queue
 * of the lock meanwhile, so a page that has its turn again is behind this one.
 */
function watchHolder(lock, waiting, ended) {
  let last;
  let checks = 0;
  const check = async () => {
    const holder = await holderOf(lock);
    checks = holder !== undefined && holder === last ? checks + 1 : 1;
    last = holder;
    if (checks < MOST_CHECKS) return;
    checks = 0;
    // One of the pages that wait takes the lock; the next one then finds another holder.
    await navigator.locks.request(`${lock} taking`, async () => {
      if (await holderOf(lock) !== holder || ended.aborted) return;
      const isOver = new Promise((resolve) => { ended.addEventListener('abort', resolve); });
      waiting.abort();
      await isOver;
    });
  };
  const timer = setInterval(() => check().catch(() => {}), CHECK);
  ended.addEventListener('abort', () => clearInterval(timer));
}

async function holderOf(lock) {
  const { held } = await navigator.locks.query();
  return held.find(({ name }) => name === lock)?.clientId;
}

/** 96 random bits as text; `crypto.randomUUID` is not there on pages without HTTPS. */
export function randomText() {
  return hex(crypto.getRandomValues(new Uint8Array(12)));
}

/** Bytes as hexadecimal digits. */
export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
