// A live fetch: the result that a client holds, kept current by the events of a Feed.
//
// It keeps two results: the server's, and the shown one, which also has the local edits that are not
// confirmed. `current` is the shown one, a new object whenever it changes.

import { advance, isEmptyDiff, OutOfStep, sameSummary } from './apply.js';
import { digest } from './digest.js';
import { Decimal } from './json.js';
import { confirmed, overlay } from './overlay.js';
import { call, route, warnOfRefusal } from './transport.js';
import { hasReached } from './pending.js';

/** Milliseconds after a save before the client requests a diff that may contain it; doubled each time, up to the longest. */
const CONFIRM_AFTER = 1000;
const LONGEST_CONFIRM = 30_000;
let counter = 0;

const isStructure = (value) => value !== null && typeof value === 'object' && !(value instanceof Decimal);

export class Live {
  name = `f${(counter += 1)}`;
  /** `connecting`, `live`, `offline`, `failed` or `closed`. */
  state = 'connecting';
  error = null;
  isClosed = false;
  #base = null;
  /** Of a failed fetch: `#base` with the saves that were answered since, of which no diff comes. */
  #kept = null;
  /** The token at which `#base` is still the result; undefined if none is known but its own. */
  #newest;
  /** The token from which the connection continued; a diff may begin there. Undefined after the first one. */
  #start;
  #current = null;
  /** The edits of the present task. */
  #edits = 0;
  /** True while `#current` lacks an edit. */
  #isStale = false;
  #handlers;
  #client;
  #checksDigest;
  #confirmation = null;
  #confirmations = 0;
  #listeners = new Set();

  /** @param client the used part of a client: `{transport, pending, answers(), reached(), lost(),
   * resultChanged(live), forgetSettled(), drop(live)}`. */
  constructor(request, handlers, client, { checksDigest, int64 }) {
    this.request = request;
    /** The request as it is sent. */
    this.wire = { ...request, int64: request.int64 ?? int64 };
    if (checksDigest) this.wire.digest = true;
    this.#handlers = handlers;
    this.#client = client;
    this.#checksDigest = checksDigest;
  }

  /**
   * The shown result, with all edits: `{entity, token, sections, count, total, next, truncated,
   * isPending}`.
   */
  get current() {
    if (this.#isStale) this.#show();
    return this.#current;
  }

  get sections() {
    return this.current?.sections ?? [];
  }

  /** The result as the server sent it, without local edits, at the token from which a connection continues. */
  get result() {
    return this.#newest === undefined ? this.#base : { ...this.#base, token: this.#newest };
  }

  /** The token from which a connection continues; undefined before the first snapshot. */
  get resumeToken() {
    return this.#newest ?? this.#base?.token;
  }

  /** Calls `listener` after every change of `current` or `state`; returns how to stop that. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops following. Nothing is called afterwards. */
  close() {
    if (this.isClosed) return;
    this.#become('closed');
    this.isClosed = true;
    clearTimeout(this.#confirmation);
    this.#client.drop(this);
  }

  /** Shows a result of an earlier page until the server sends what has changed since. */
  restore(result) {
    if (this.#base) return;
    this.#base = result;
    try {
      this.refresh('stored');
    } catch (error) {
      this.#base = null;
      throw error;
    }
  }

  // MARK: What the feed calls

  connected() {
    this.#start = this.resumeToken;
    this.#client.reached();
  }

  lost(error) {
    if (error) this.#client.lost();
    this.#become('offline', error);
  }

  fail(error) {
    this.#become('failed', error);
    const { onError, onState } = this.#handlers;
    call(onError, error);
    if (!onError && !onState) warnOfRefusal(`The fetch of ${this.request.entity}`, error);
  }

  /** Lets go of the token: the next connection begins with a snapshot. */
  forget(reason) {
    if (reason) this.#report('out-of-step', { detail: reason.message });
    this.#newest = undefined;
    this.#start = undefined;
    if (this.#base) this.#base = { ...this.#base, token: undefined };
  }

  /** The result is unchanged up to a token of the whole connection. The next diff may begin before it. */
  unchanged(token) {
    if (this.isClosed) return;
    if (token !== this.resumeToken) {
      this.#newest = token;
      this.#client.resultChanged(this);
      if (this.#settle()) this.refresh('settled');
    }
    this.#become('live');
  }

  /** @throws OutOfStep where a diff does not fit, or its digest shows that something was lost. */
  async receive({ kind, data, bytes }) {
    // A new object of our own would stand twice until the save's answer has its id.
    await this.#client.answers();
    if (this.isClosed) return;
    const before = this.#base;
    if (kind === 'snapshot') this.#replace(data);
    else this.#advance(data);
    this.#newest = undefined;
    this.#start = undefined;
    this.#settle();
    // An expired wait changes nothing. A count has no entries.
    const isQuiet = kind === 'diff' && (data.items ? isEmptyDiff(data) : !data.reset)
      && sameSummary(before, this.#base);
    this.#client.resultChanged(this);
    this.refresh(isQuiet ? 'token' : kind, { data, bytes });
    this.#become('live');
  }

  #replace(snapshot) {
    this.#base = snapshot;
    if (!this.#checksDigest || snapshot.digest === undefined) return;
    if (digest(snapshot.sections, this.wire.int64) === snapshot.digest) return;
    // Values that JavaScript writes in another way than the server: no later check could be right.
    this.#checksDigest = false;
    // JSON is hashed as it is stored, with its blanks: that is lost.
    if (!snapshot.sections.some(({ value }) => isStructure(value))) this.#report('digest-unusable', { expected: snapshot.digest });
  }

  #advance(diff) {
    if (!this.#base?.token) throw new OutOfStep('a diff came before a snapshot');
    const isUnchanged = diff.from === this.#newest || diff.from === this.#start;
    const next = advance(isUnchanged ? { ...this.#base, token: diff.from } : this.#base, diff);
    if (this.#checksDigest && diff.digest !== undefined) this.#check(next);
    this.#base = next;
  }

  #check({ sections, token, digest: expected }) {
    const actual = digest(sections, this.wire.int64);
    if (actual === expected) return;
    this.#report('digest-mismatch', { expected, actual, token });
    throw new OutOfStep(`the digest at ${token} is ${actual}, not ${expected}`);
  }

  // MARK: Local edits

  /** Shows an edit: the first one immediately, those after it in the same task together. */
  edited() {
    this.#edits += 1;
    if (this.#edits > 1) {
      this.#isStale = this.#base !== null;
      return;
    }
    queueMicrotask(() => {
      const hasMore = this.#edits > 1;
      this.#edits = 0;
      if (hasMore) this.refresh('edit');
    });
    this.refresh('edit');
  }

  /** Recomputes the shown result. */
  refresh(cause, { data, bytes } = {}) {
    if (!this.#base || this.isClosed) return;
    if (cause !== 'token') this.#show();
    const info = { cause, bytes };
    if (cause === 'snapshot') call(this.#handlers.onSnapshot, this.#current, data, info);
    if (cause === 'diff') call(this.#handlers.onDiff, data, this.#current, info);
    if (cause !== 'token' && !this.isClosed) call(this.#handlers.onChange, this.#current, info);
    if (!this.isClosed) this.#notify();
  }

  #show() {
    this.#isStale = false;
    const changes = this.#pending().flatMap((pending) => pending.changes);
    const base = this.#kept ?? this.#base;
    this.#current = { ...this.#with(base, changes, overlay), isPending: changes.length > 0 };
  }

  /** The result with the changes; `lay` is `overlay` or `confirmed`. */
  #with(result, changes, lay) {
    const sections = result.sections && lay(result.sections, this.request, changes);
    if (sections === result.sections) return result;
    return { ...result, sections, count: sections.reduce((count, { items }) => count + items.length, 0) };
  }

  #pending() {
    return this.#client.pending.filter((pending) => pending.concerns(this));
  }

  /** Called when a save was answered. */
  answered() {
    if (this.#settle()) this.refresh('settled');
    this.#confirmations = 0;
    if (this.#pending().length > 0) this.#confirmSoon();
  }

  /** Keeps the answered saves of a fetch that has failed in its shown result. */
  keepAnswered() {
    const answered = this.state === 'failed' ? this.#pending().filter(({ token }) => token) : [];
    if (answered.length === 0) return;
    const missing = answered.filter(({ token }) => !hasReached(this.resumeToken, token));
    if (this.#base) this.#kept = this.#with(this.#kept ?? this.#base, missing.flatMap(({ changes }) => changes), confirmed);
    answered.forEach((each) => each.settle(this));
    this.refresh('settled');
  }

  /** Drops the edits that the result contains; true if there were any. */
  #settle() {
    const contained = this.#pending().filter(
      ({ token }) => token && hasReached(this.resumeToken, token));
    return this.#letGo(contained);
  }

  #letGo(pending) {
    pending.forEach((each) => each.settle(this));
    if (pending.length > 0) this.#client.forgetSettled();
    return pending.length > 0;
  }

  #confirmSoon() {
    if (this.state !== 'live') return;
    this.#confirmation ??= setTimeout(() => {
      this.#confirmation = null;
      this.#confirmations += 1;
      this.#confirm();
    }, Math.min(LONGEST_CONFIRM, CONFIRM_AFTER * 2 ** this.#confirmations));
  }

  /**
   * No diff comes of a save that does not change the result, so this requests one. An empty diff
   * means that the present result contains every save that was answered before.
   */
  async #confirm() {
    const asked = this.resumeToken;
    const waiting = this.#pending().filter(({ token }) => token);
    if (this.state !== 'live' || waiting.length === 0) return;
    const isQuiet = asked !== undefined && (await this.#saysNothing(asked));
    if (isQuiet && asked === this.resumeToken) {
      this.#letGo(waiting);
      this.refresh('settled');
    }
    if (this.#pending().length > 0) this.#confirmSoon();
  }

  async #saysNothing(since) {
    try {
      const request = route({ ...this.wire, since, wait: 0 });
      const { data } = await this.#client.transport.json(request);
      return isEmptyDiff(data) && sameSummary(this.#base, advance(this.result, data));
    } catch {
      return false;
    }
  }

  // MARK: Notifying

  /** The error belongs to the state: a state that is entered without one has none. */
  #become(state, error = null) {
    if (this.isClosed) return;
    this.error = error;
    if (this.state === state) return;
    this.state = state;
    call(this.#handlers.onState, state, error);
    this.#notify();
    if (state === 'live' && this.#pending().some(({ token }) => token)) this.#confirmSoon();
  }

  #report(kind, details) {
    const report = { kind, request: this.request, ...details };
    if (this.#handlers.onReport) call(this.#handlers.onReport, report);
    else console.warn('livefetch:', kind, report);
  }

  #notify() {
    for (const listener of this.#listeners) call(listener);
  }
}
