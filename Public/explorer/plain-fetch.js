// The result of a fetch that cannot be followed: fetched once, and again on request.

import { route } from '../livefetch.js';
import { Backoff } from '../livefetch/backoff.js';
import { asLiveFetchError, isAnswer } from '../livefetch/transport.js';
import { distinguish } from './row-key.js';

/** Has the interface of a live fetch; its state is `plain` once rows are shown. `current.at` is the time of the response. */
export class PlainFetch {
  state = 'connecting';
  current = null;
  #client;
  #handlers;
  /** Ends the running request, or the wait before the next one. */
  #running = new AbortController();
  #backoff = new Backoff();

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

  /** Fetches again in place of a running request; the former rows are shown until the new ones have arrived. */
  async refresh() {
    if (this.state === 'closed') return;
    this.#running.abort();
    this.#running = new AbortController();
    const { signal } = this.#running;
    try {
      const request = route({ ...this.request, int64: 'string' });
      const { data, bytes } = await this.#client.transport.json({ ...request, signal });
      if (!signal.aborted) this.#show(data, bytes);
    } catch (error) {
      if (!signal.aborted) this.#failed(error, signal);
    }
  }

  close() {
    this.state = 'closed';
    this.#running.abort();
  }

  #show(snapshot, bytes) {
    this.#backoff.succeeded();
    distinguish(snapshot.sections ?? []);
    this.current = { ...snapshot, at: new Date() };
    this.#become('plain');
    const info = { cause: 'snapshot', bytes };
    this.#handlers.onSnapshot?.(this.current, snapshot, info);
    this.#handlers.onChange?.(this.current, info);
  }

  async #failed(cause, signal) {
    const error = asLiveFetchError(cause);
    this.#become(isAnswer(error) ? 'failed' : 'offline', error);
    if (isAnswer(error)) return this.#handlers.onError?.(error);
    await this.#backoff.wait(signal, error.retryAfter);
    if (!signal.aborted) this.refresh();
  }

  #become(state, error) {
    this.state = state;
    this.#handlers.onState?.(state, error);
  }
}
