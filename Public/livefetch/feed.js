// One connection that keeps its subscriptions in step, for as long as they want it: it opens the
// connection, hands on what comes, and when it breaks opens it again from the last token of each one.

import { OutOfStep } from './apply.js';
import { aborted, asLiveFetchError, isAnswer, LiveFetchError } from './transport.js';
import { StreamBuffered, pollMany, pollOne, streamMany, streamOne } from './sources.js';
import { Backoff, onWaking } from './backoff.js';
import { Visibility } from './visibility.js';

const RESTART = Symbol('restart');
const HIDDEN = Symbol('hidden');
/** Seconds. */
const HIDDEN_AFTER = 30;

export class Feed {
  #subscriptions = new Set();
  /** The fetches that the server could not answer, during their pause. */
  #resting = new Set();
  /** Their pauses: each grows until the fetch is answered. */
  #pauses = new Map();
  #transport;
  #sources;
  #isStreaming;
  /** True after a stream whose first bytes did not come. */
  #wasSilent = false;
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
    if (!this.#subscriptions.delete(subscription)) return;
    this.#forgetPause(subscription);
    if (this.size === 0) this.#backoff.end();
    this.restart();
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
    this.#stopWatching = onWaking(() => [this.#backoff, ...this.#pauses.values()].forEach((each) => each.hurry()));
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
    const subscriptions = [...this.#subscriptions].filter((subscription) => !this.#resting.has(subscription));
    try {
      if (subscriptions.length === 0) await aborted(session.signal);
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
      if (event.kind !== 'open' && !event.isAssumed) this.#wasSilent = false;
      const concerned = event.name === undefined ? subscriptions : [byName.get(event.name)];
      if (event.kind === 'open') concerned.forEach((subscription) => subscription?.connected());
      else if (event.kind === 'lost') this.#lost(concerned, event.data && new LiveFetchError(event.data));
      else if (event.kind === 'error') this.#erred(new LiveFetchError(event.data), event.name, byName);
      else if (event.kind === 'token') this.#unchanged(concerned, event.data);
      else await this.#deliver(event, byName.get(event.name));
    }
  }

  /** An error of the whole connection ends it; one of a fetch ends that one alone, or lets it rest. */
  #erred(error, name, byName) {
    const subscription = byName.get(name);
    if (name !== undefined && !this.#subscriptions.has(subscription)) return;
    if (!subscription || error.status === 410) throw Object.assign(error, { subscription });
    if (isAnswer(error)) this.#end(error, [subscription]);
    else this.#rest(subscription, error);
    const isOver = [...byName.values()].every((each) => !this.#subscriptions.has(each) || this.#resting.has(each));
    if (isOver) throw RESTART;
  }

  /** Requests a fetch again after a pause of its own, while the others continue. */
  async #rest(subscription, error) {
    const pause = this.#pauses.get(subscription) ?? new Backoff();
    this.#pauses.set(subscription, pause);
    this.#lost([subscription], error);
    this.#resting.add(subscription);
    await pause.wait(undefined, error.retryAfter);
    if (this.#resting.delete(subscription)) this.restart();
  }

  #forgetPause(subscription) {
    this.#resting.delete(subscription);
    this.#pauses.get(subscription)?.end();
    this.#pauses.delete(subscription);
  }

  /** What these fetches have is the result at a later token, from which they can continue. */
  #unchanged(subscriptions, token) {
    this.#followed(subscriptions).filter(({ resumeToken }) => resumeToken !== undefined).forEach((each) => each.unchanged(token));
  }

  async #deliver(event, subscription) {
    this.#backoff.succeeded();
    if (!this.#subscriptions.has(subscription) || subscription.isClosed) return;
    this.#forgetPause(subscription);
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
    if (cause instanceof StreamBuffered) {
      // The network may just have been lost: only the second time it is a proxy.
      this.#isStreaming = cause.isSilent && !this.#wasSilent;
      this.#wasSilent = this.#isStreaming;
      return;
    }
    this.#wasSilent = false;
    if (!(cause instanceof LiveFetchError)) console.error('livefetch:', cause);
    const error = asLiveFetchError(cause);
    if (error.status === 410) {
      (error.subscription ? [error.subscription] : subscriptions).forEach((subscription) => subscription.forget(null));
    } else if (isAnswer(error)) {
      if (!this.#onRefused(error, subscriptions)) this.#end(error, subscriptions);
      return;
    }
    this.#lost(subscriptions, error);
    // A fetch that is added meanwhile does not shorten the pause that the server has requested.
    await this.#backoff.wait(error.retryAfter ? undefined : signal, error.retryAfter);
  }

  #end(error, subscriptions) {
    for (const subscription of subscriptions) {
      this.#subscriptions.delete(subscription);
      this.#forgetPause(subscription);
      subscription.fail(error);
    }
  }

  #lost(subscriptions, error) {
    this.#followed(subscriptions).forEach((subscription) => subscription.lost(error));
  }

  #followed(subscriptions) {
    return subscriptions.filter((each) => this.#subscriptions.has(each) && !this.#resting.has(each));
  }
}
