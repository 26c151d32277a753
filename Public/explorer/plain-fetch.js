// The result of a fetch that cannot be followed: fetched once, and again on request.

import { route } from '../livefetch.js';
import { asLiveFetchError } from '../livefetch/transport.js';

/** Milliseconds before the next attempt to reach the server. */
const RETRY = 1500;

/** Has the properties and handlers of a live fetch; its state is `plain` once rows are shown. */
export class PlainFetch {
  state = 'connecting';
  current = null;
  #client;
  #handlers;
  #abort = new AbortController();
  #retry;

  /** @param handlers `{onSnapshot, onChange, onState, onError}`, as `client.live` takes them. */
  constructor(client, request, handlers) {
    this.#client = client;
    this.#handlers = handlers;
    this.request = request;
    this.refresh();
  }

  get sections() {
    return this.current?.sections ?? [];
  }

  /** Fetches again; the former rows are shown until the new ones have arrived. */
  async refresh() {
    const { signal } = this.#abort;
    try {
      const request = route({ ...this.request, int64: 'string' });
      const { data, bytes } = await this.#client.transport.json({ ...request, signal });
      if (!signal.aborted) this.#show(data, bytes);
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  close() {
    this.state = 'closed';
    clearTimeout(this.#retry);
    this.#abort.abort();
  }

  #show(snapshot, bytes) {
    this.current = { ...snapshot, at: new Date() };
    this.#become('plain');
    const info = { cause: 'snapshot', bytes };
    this.#handlers.onSnapshot?.(this.current, snapshot, info);
    this.#handlers.onChange?.(this.current, info);
  }

  #failed(cause) {
    const error = asLiveFetchError(cause);
    this.#become(error.isTransient ? 'offline' : 'failed', error);
    if (!error.isTransient) return this.#handlers.onError?.(error);
    this.#retry = setTimeout(() => this.refresh(), RETRY);
  }

  #become(state, error) {
    this.state = state;
    this.#handlers.onState?.(state, error);
  }
}
