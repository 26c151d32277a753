// Turns a live fetch into a value that frameworks can show: `{data, state, error}`, a new object for each change.
//
// Equal requests of a client share one live fetch. It stays open for a second after the last subscriber
// has unsubscribed, so that a component that is mounted again at once (by React's StrictMode, or when it moves
// within the page) neither sends a new request nor shows an empty result.

import { stringify } from './json.js';
import { call } from './transport.js';

/** Milliseconds that a live fetch stays open without subscribers. */
const LINGER = 1000;

export const idle = Object.freeze({ data: null, state: 'idle', error: null });
const connecting = Object.freeze({ data: null, state: 'connecting', error: null });
const nothing = { subscribe: () => () => {}, read: () => idle, ready: Promise.resolve() };

/** The open live fetches, by client and request. */
const opened = new WeakMap();

/** The value before the first result: `idle` without a request. */
export function initial(request) {
  return request ? connecting : idle;
}

/**
 * Returns `{subscribe(listener), read(), ready}` of a request. The request is followed while it has subscribers; `ready`
 * resolves when there is data, or when the server has refused the request.
 */
export function watch(client, request) {
  if (!request) return nothing;
  if (!opened.has(client)) opened.set(client, new Map());
  const entries = opened.get(client);
  const key = stringify(request);
  const entry = () => {
    if (!entries.has(key)) entries.set(key, new Watched(client.live(request), () => entries.delete(key)));
    return entries.get(key);
  };
  return {
    subscribe: (listener) => entry().subscribe(listener),
    read: () => entries.get(key)?.value ?? connecting,
    get ready() { return entry().ready; },
  };
}

/** An open live fetch and its subscribers. */
class Watched {
  value = connecting;
  #live;
  #onEnd;
  #listeners = new Set();
  #timer;
  #ready;

  constructor(live, onEnd) {
    this.#live = live;
    this.#onEnd = onEnd;
    live.subscribe(() => this.#update());
    this.#update();
  }

  subscribe(listener) {
    clearTimeout(this.#timer);
    const own = () => listener();
    this.#listeners.add(own);
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#endSoon();
    };
  }

  get ready() {
    this.#ready ??= this.#settled().finally(() => { this.#ready = undefined; });
    return this.#ready;
  }

  #settled() {
    return new Promise((resolve) => {
      const check = () => {
        if (this.value.data === null && this.value.state !== 'failed') return;
        resolve();
        queueMicrotask(stop);
      };
      const stop = this.subscribe(check);
      check();
    });
  }

  #update() {
    const { current: data, state, error } = this.#live;
    const { data: oldData, state: oldState, error: oldError } = this.value;
    if (state === 'closed' || (data === oldData && state === oldState && error === oldError)) return;
    this.value = { data, state, error };
    for (const listener of [...this.#listeners]) call(listener);
  }

  #endSoon() {
    this.#timer = setTimeout(() => {
      this.#onEnd();
      this.#live.close();
    }, LINGER);
    this.#timer.unref?.();
  }
}

/**
 * Returns the value to show after a change of the request. Until the first result arrives, that is the data of the
 * previous request, if the items of both have the same properties.
 */
export function keepData(before, request, value) {
  if (value.data !== null || value.state === 'failed' || !before?.data || !request) return value;
  return form(before.request) === form(request) ? { ...value, data: before.data } : value;
}

function form({ entity, as = 'objects', select, group }) {
  return JSON.stringify([entity, as, select, group]);
}

/** Follows a request that may be replaced by another one. Calls `show` with each new `{data, state, error}`. */
export class Follower {
  #client;
  #show;
  #shown = idle;
  #request = null;
  #key;
  #stop = () => {};

  constructor(client, show) {
    this.#client = client;
    this.#show = show;
  }

  follow(request) {
    const key = stringify(request ?? null);
    if (key === this.#key) return;
    this.#key = key;
    const before = { request: this.#request, data: this.#shown.data };
    const watched = watch(this.#client, request);
    const update = () => {
      this.#shown = keepData(before, request, watched.read());
      this.#show(this.#shown);
    };
    const stopBefore = this.#stop;
    this.#stop = watched.subscribe(update);
    this.#request = request;
    stopBefore();
    update();
  }

  close() {
    this.#stop();
    this.#key = undefined;
  }
}
