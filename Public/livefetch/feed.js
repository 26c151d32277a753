// One connection that keeps its subscriptions in step, for as long as they want it: it opens the
// connection, hands on what comes, and when it breaks opens it again from where each one stands.

import { OutOfStep } from './apply.js';
import { asLiveFetchError, LiveFetchError } from './transport.js';
import { StreamHeldBack, pollMany, pollOne, streamMany, streamOne } from './sources.js';
import { Backoff, onWaking } from './backoff.js';
import { Visibility } from './visibility.js';

const RESTART = Symbol('restart');
const HIDDEN = Symbol('hidden');
/** Seconds. */
const HIDDEN_AFTER = 30;

export class Feed {
  #subscriptions = new Set();
  #transport;
  #sources;
  #isStreaming;
  #onRefused;
  #backoff = new Backoff();
  #session = null;
  #isRunning = false;
  #stopWatching = () => {};
  #hiddenAfter;
  #visibility;

  /**
   * @param options `isMany`: whether it carries many fetches at once; `isStreaming`: false for
   * long-polls; `stream`: a source in place of a stream of its own; `hiddenAfter`: after how many seconds
   * a hidden page releases the connection, or false; `onRefused(error, subscriptions)`: true if it has
   * dealt with a refusal.
   */
  constructor(transport, { isMany, isStreaming = true, stream, hiddenAfter = HIDDEN_AFTER,
    onRefused = () => false }) {
    this.#transport = transport;
    this.#sources = isMany ? [stream ?? streamMany, pollMany] : [streamOne, pollOne];
    this.#hiddenAfter = hiddenAfter;
    this.#isStreaming = isStreaming;
    this.#onRefused = onRefused;
  }

  get size() {
    return this.#subscriptions.size;
  }

  add(subscription) {
    this.#subscriptions.add(subscription);
    this.restart();
  }

  remove(subscription) {
    if (this.#subscriptions.delete(subscription)) this.restart();
  }

  /** Opens the connection again, from the tokens that the subscriptions now have. */
  restart() {
    this.#session?.abort(RESTART);
    this.#backoff.hurry();
    // Subscriptions that are added together share the first connection.
    if (!this.#isRunning) queueMicrotask(() => this.#run());
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#stopWatching = onWaking(() => this.#backoff.hurry());
    this.#visibility = new Visibility(this.#hiddenAfter, () => this.#session?.abort(HIDDEN));
    while (this.size > 0) {
      await this.#connect();
      await this.#visibility.shown();
    }
    this.#visibility.close();
    this.#stopWatching();
    this.#isRunning = false;
  }

  /** One connection from its opening to its end, and the wait after it. */
  async #connect() {
    const session = new AbortController();
    this.#session = session;
    const subscriptions = [...this.#subscriptions];
    try {
      await this.#listen(subscriptions, session.signal);
      this.#lost(subscriptions, null);
      await this.#backoff.wait(session.signal);
    } catch (error) {
      if (error === HIDDEN) this.#lost(subscriptions, null);
      else if (error !== RESTART) await this.#failed(error, subscriptions, session.signal);
    } finally {
      session.abort(RESTART);
    }
  }

  async #listen(subscriptions, signal) {
    const source = this.#sources[this.#isStreaming ? 0 : 1];
    const byName = new Map(subscriptions.map((subscription) => [subscription.name, subscription]));
    for await (const event of source(this.#transport, subscriptions, signal)) {
      if (signal.aborted) throw signal.reason;
      const concerned = event.name === undefined ? subscriptions : [byName.get(event.name)];
      if (event.kind === 'open') concerned.forEach((subscription) => subscription?.connected());
      else if (event.kind === 'lost') this.#lost(concerned, event.data && new LiveFetchError(event.data));
      else {
        this.#backoff.succeeded();
        await this.#deliver(event, byName.get(event.name));
      }
    }
  }

  async #deliver(event, subscription) {
    if (event.kind === 'error') {
      // With a name it is one fetch that has ended; the others are as they were.
      throw Object.assign(new LiveFetchError(event.data), subscription && { subscription });
    }
    if (!subscription || subscription.isClosed) return;
    // The next request begins with a snapshot.
    if (event.kind === 'expired') return subscription.forget(null);
    try {
      await subscription.receive(event);
    } catch (error) {
      if (!(error instanceof OutOfStep)) throw error;
      subscription.forget(error);
      throw RESTART;
    }
  }

  async #failed(cause, subscriptions, signal) {
    if (cause instanceof StreamHeldBack) {
      this.#isStreaming = false;
      return;
    }
    if (!(cause instanceof LiveFetchError)) console.error('livefetch:', cause);
    const error = asLiveFetchError(cause);
    const concerned = error.subscription ? [error.subscription] : subscriptions;
    if (error.status === 410) {
      concerned.forEach((subscription) => subscription.forget(null));
    } else if (error.isTransient === false) {
      const isOne = error.subscription !== undefined;
      if (isOne || !this.#onRefused(error, subscriptions)) this.#end(error, concerned);
      return;
    }
    this.#lost(subscriptions, error);
    await this.#backoff.wait(signal, error.retryAfter);
  }

  #end(error, subscriptions) {
    for (const subscription of subscriptions) {
      this.#subscriptions.delete(subscription);
      subscription.fail(error);
    }
  }

  #lost(subscriptions, error) {
    subscriptions.forEach((subscription) => subscription?.lost(error));
  }
}
