// Saves that wait for the server, kept in a storage until they are answered.
//
// Enters: the changes and options of saves. Leaves: their answers, one save at a time, in order. Each
// save has an idempotency key: one that is sent again because its answer was lost is saved once. The
// pages of a browser share the queue: one of them sends at a time, all receive the outcome.

import { Backoff, onWaking } from './backoff.js';
import { stringify } from './json.js';
import { Pages, randomText } from './pages.js';
import { hasID, namesIn, withIDs } from './pending.js';
import { SILENCE, timed } from './sources.js';
import { asLiveFetchError, call, LiveFetchError, warnOfRefusal } from './transport.js';

const PREFIX = 'save/';
/** A server keeps idempotency keys for 24 hours; one hour allows for clocks. */
const KEY_LIFETIME = 23 * 3_600_000;
/** Milliseconds after which a page that has more to send lets another one send. */
const LONGEST_TURN = 20_000;
/** Bytes per millisecond that a slow network carries at least. */
const SLOWEST = 10;
/** Milliseconds to wait for the message with the outcome of a save that another page has sent. */
const OUTCOME_SOON = 1000;

export class SaveQueue {
  #items = new Map();
  #storage;
  #transport;
  #handlers;
  #pages;
  #backoff = new Backoff();
  #closed = new AbortController();
  #isSending = false;
  /** The item whose request is under way. */
  #sent = null;
  #error = null;
  /** True while the last that is known of the server is that it answers. */
  #isReached = false;
  #lastTime = 0;
  #ids = {};
  #stopWatching;
  /** Resolves when the saves of earlier pages are there. */
  loaded;

  /**
   * @param handlers `onItem(item)` for a save of another page or an earlier one; `onSending(item)` when
   * one is sent; `onRefused(error, save)`; `onQueue(size, error, unstored)` when a number has changed.
   */
  constructor(storage, transport, handlers) {
    this.#storage = storage;
    this.#transport = transport;
    this.#handlers = handlers;
    this.#pages = new Pages(`livefetch queue ${storage.name ?? transport.base}`, (message) => this.#receive(message));
    this.#stopWatching = onWaking(() => this.wake());
    this.loaded = this.#load().then(() => this.#reorder());
    this.loaded.then(() => this.wake());
  }

  /**
   * Keeps a save and sends it in its turn; the promise `answer` of the item settles afterwards. A closed queue keeps none,
   * as nobody would settle it.
   */
  add(changes, { signal, mergePolicy, prefer, optimistic, idempotencyKey = randomText() }) {
    const isNext = this.#items.size === 0 && this.#isReached && globalThis.navigator?.onLine !== false;
    const save = { changes: withIDs(changes, this.#ids), mergePolicy, prefer, optimistic, idempotencyKey,
      int64: this.#transport.int64, page: this.#pages.id, ...(isNext ? this.#now : {}) };
    if (this.#closed.signal.aborted) return this.#refusedAfterClose(save);
    const item = this.#take(this.#nextKey(), save, signal);
    item.stored = this.#storage.set(item.key, save).then((isStored) => this.#mark(item, isStored));
    Promise.all([item.stored, this.loaded]).then(() => this.#pages.post({ kind: 'queued' }));
    if (signal?.aborted) this.#cancel(item);
    else signal?.addEventListener('abort', () => this.#cancel(item), { signal: item.ended.signal });
    this.wake();
    return item;
  }

  #refusedAfterClose(save) {
    const error = new LiveFetchError({ status: 0, code: 'client-closed', detail: 'The client is closed: nothing was saved.' });
    call(this.#handlers.onRefused, error, { changes: save.changes });
    return { save, answer: Promise.reject(error) };
  }

  /** Removes a save whose caller has aborted it. One that is being sent ends by its request. */
  async #cancel(item) {
    if (item === this.#sent) return;
    await item.stored;
    await this.#end(item, item.signal.reason);
  }

  /** The connection of a live fetch was opened. */
  reached() {
    this.#isReached = true;
    this.wake();
  }

  /** The connection of a live fetch was lost. */
  lost() {
    this.#isReached = false;
  }

  /** Sends what waits now: the server may be there again. */
  async wake() {
    if (this.#isSending) return this.#backoff.hurry();
    this.#isSending = true;
    while (this.#first() && !this.#closed.signal.aborted) {
      try {
        await this.#pages.exclusively(() => this.#sendAll());
      } catch (cause) {
        const error = asLiveFetchError(cause);
        this.#isReached = false;
        this.#changed(error);
        await this.#backoff.wait(this.#closed.signal, error.retryAfter);
      }
    }
    this.#isSending = false;
  }

  /** Stops sending; what waits stays in the storage. Resolves when all of it is there. */
  async close() {
    this.#closed.abort();
    this.#stopWatching();
    this.#pages.close();
    await Promise.all([...this.#items.values()].map(({ stored }) => stored));
  }

  // MARK: The storage

  async #load() {
    const keys = (await this.#storage.keys()).filter((key) => key.startsWith(PREFIX)).sort();
    for (const key of keys) {
      const save = this.#items.has(key) ? undefined : await this.#storage.get(key);
      if (!save || this.#items.has(key)) continue;
      if (isSave(save)) this.#handlers.onItem(this.#take(key, save));
      else await this.#discard(key);
    }
  }

  /** Removes a stored save that cannot be read: it would hold up those after it. */
  async #discard(key) {
    await this.#storage.delete(key);
    const error = new LiveFetchError({ status: 0, code: 'storage-damaged', detail: 'The storage has a save that cannot be read.' });
    if (this.#handlers.onRefused) call(this.#handlers.onRefused, error, { changes: [] });
    else warnOfRefusal('A save of an earlier page', error);
  }

  /** Saves that were made while the earlier ones were read follow them, also after the clock was set back. */
  async #reorder() {
    const isOwn = ({ save }) => save.page === this.#pages.id;
    const sorted = [...this.#items.values()].sort((left, right) => (left.key < right.key ? -1 : 1));
    const first = sorted.findIndex(isOwn);
    if (first < 0 || sorted.slice(first).every(isOwn)) return;
    await Promise.all(sorted.filter(isOwn).map((item) => this.#rename(item)));
  }

  /** Gives an item that is not sent yet a new key, after all others. */
  async #rename(item) {
    const before = item.key;
    this.#items.delete(before);
    item.key = this.#nextKey();
    this.#items.set(item.key, item);
    item.stored = item.stored.then(async () => {
      // An aborted save is not stored again.
      if (!item.signal?.aborted) this.#mark(item, await this.#storage.set(item.key, item.save));
      await this.#storage.delete(before);
    });
    await item.stored;
  }

  #take(key, save, signal) {
    const item = { key, save, signal, names: namesIn(save.changes), stored: undefined, isUnstored: false, ended: new AbortController() };
    item.answer = new Promise((resolve, reject) => Object.assign(item, { resolve, reject }));
    if (this.#handlers.onRefused || save.page !== this.#pages.id) item.answer.catch(() => {});
    this.#items.set(key, item);
    this.#lastTime = Math.max(this.#lastTime, Number(/\d+/.exec(key)?.[0] ?? 0));
    this.#changed(this.#error);
    return item;
  }

  /** Keys sort in the order in which the saves were made, also after the clock was set back. */
  #nextKey() {
    this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
    return `${PREFIX}${String(this.#lastTime).padStart(15, '0')}-${this.#pages.id}`;
  }

  // MARK: Sending

  #first() {
    let first;
    for (const item of this.#items.values()) if (!first || item.key < first.key) first = item;
    return first;
  }

  async #sendAll() {
    await this.loaded;
    await this.#load();
    const end = performance.now() + LONGEST_TURN;
    const goesOn = () => !this.#closed.signal.aborted && performance.now() < end;
    for (let item = this.#first(); item && goesOn(); item = this.#first()) {
      await item.stored;
      const save = await this.#storage.get(item.key, item.save) ?? await this.#unsettled(item);
      if (save) await this.#sendOne(item, { ...save, changes: withIDs(save.changes, this.#ids) });
    }
  }

  /**
   * The save of an item that the storage no longer has: another page has sent it, and posts the outcome.
   * Without a message the storage was emptied; sent again under its key, the save is made once.
   */
  async #unsettled(item) {
    const soon = new Promise((resolve) => { setTimeout(resolve, OUTCOME_SOON); });
    await Promise.race([soon, item.answer.catch(() => {})]);
    return item.ended.signal.aborted ? undefined : item.save;
  }

  async #sendOne(item, save) {
    if (item.signal?.aborted) return this.#end(item, item.signal.reason);
    if (save.sentAt && await this.#isTooOld(save)) return this.#finish(item, unknownOutcome());
    if (!this.#isReached || globalThis.navigator?.onLine === false) await this.#probe();
    if (item.ended.signal.aborted) return undefined;
    if (!save.sentAt) await this.#store(item, { ...save, ...this.#now });
    this.#pages.post({ kind: 'sending', key: item.key });
    this.#handlers.onSending(item);
    this.#sent = item;
    try {
      return await this.#request(item, save);
    } finally {
      this.#sent = null;
    }
  }

  /** The time of a save that is sent now: this computer's, and the last one that is known of the server. */
  get #now() {
    return { sentAt: Date.now(), servedAt: this.#transport.servedAt };
  }

  /** Where this computer's clock says that the key of a save may be gone, it may have been set: the server's decides. */
  async #isTooOld({ sentAt, servedAt }) {
    if (Date.now() - sentAt <= KEY_LIFETIME) return false;
    if (servedAt === undefined) return true;
    await this.#probe();
    return !(this.#transport.servedAt - servedAt <= KEY_LIFETIME);
  }

  async #request(item, save) {
    let data;
    try {
      ({ data } = await this.#post(save, item.signal));
    } catch (error) {
      if (item.signal?.aborted || isRefusal(error)) return this.#finish(item, error);
      // With these answers nothing was saved, so the key has not begun to age.
      if ([401, 429].includes(error.status) || error.code === 'file-damaged') {
        await this.#store(item, { ...save, sentAt: undefined, servedAt: undefined });
      }
      throw error;
    }
    return this.#finish(item, null, data);
  }

  async #store(item, save) {
    // An aborted save is not stored again.
    if (item.ended.signal.aborted || item.signal?.aborted) return;
    item.save = save;
    // Where this fails, the storage may have the save from before.
    if (await this.#storage.set(item.key, save)) this.#mark(item, true);
  }

  /** Notes whether the storage has a save: one that it does not have ends with the page. */
  #mark(item, isStored) {
    if (item.isUnstored === !isStored) return;
    item.isUnstored = !isStored;
    this.#changed(this.#error);
  }

  /** Throws while the server cannot be reached, so that the key of a save begins to age only then. */
  async #probe() {
    try {
      await timed(this.#closed.signal, (watched) => this.#transport.json({ path: '/v1', ...watched }));
    } catch (error) {
      if (error.isTransient !== false) throw error;
    }
  }

  /**
   * No bytes come while a long save is sent: its time limit is longer. A save that an earlier version has stored has no
   * `int64`. It may have been sent, and the server refuses the same key for another path.
   */
  #post({ changes, mergePolicy, prefer, idempotencyKey, int64 = null }, signal) {
    const limit = SILENCE + stringify(changes).length / SLOWEST;
    return timed(signal, (watched) =>
      this.#transport.save(changes, { mergePolicy, prefer, idempotencyKey, int64, ...watched }), limit);
  }

  // MARK: Outcomes

  async #finish(item, error, data) {
    this.#isReached = true;
    this.#backoff.succeeded();
    // First, as saves are added while the storage is written.
    Object.assign(this.#ids, data?.ids);
    if (data) await this.#replaceIDs(item, data.ids);
    await this.#end(item, error, data);
  }

  /** Removes a save from the storage, and reports its outcome to all pages. */
  async #end(item, error, data) {
    await this.#storage.delete(item.key);
    const problem = error && (error.problem ?? { code: 'not-sent', detail: error.message });
    this.#pages.post({ kind: 'outcome', key: item.key, problem, data });
    const isOrphan = error && item.save.page !== this.#pages.id && !(await this.#pages.isOpen(item.save.page));
    this.#settle(item, error, data, isOrphan);
  }

  /** Saves that wait may name objects that this one has inserted; only those are read from the storage. */
  async #replaceIDs(answered, ids) {
    for (const item of [...this.#items.values()].filter((each) => each !== answered && hasID(each.names, ids))) {
      const save = await this.#storage.get(item.key, item.save);
      const changes = save && withIDs(save.changes, ids);
      if (save && changes !== save.changes) await this.#store(item, { ...save, changes });
    }
  }

  #receive({ kind, key, problem, data }) {
    if (kind === 'queued') return this.loaded.then(() => this.#load()).then(() => this.wake());
    const item = this.#items.get(key);
    if (item && kind === 'sending') return this.#handlers.onSending(item);
    if (item) this.#settle(item, problem && new LiveFetchError(problem), data, false);
  }

  #settle(item, error, data, isOrphan) {
    if (item.ended.signal.aborted) return;
    item.ended.abort();
    this.#items.delete(item.key);
    Object.assign(this.#ids, data?.ids);
    this.#changed(null);
    if (error) this.#refused(item, error, isOrphan);
    else item.resolve(data);
  }

  /**
   * One page hands a refusal to the application: the one that saved, or the one that sent for it. What its
   * caller has aborted is no refusal.
   */
  #refused(item, error, isOrphan) {
    item.reject(error);
    if (error === item.signal?.reason) return;
    const { changes, page } = item.save;
    const { onRefused } = this.#handlers;
    if (onRefused && (isOrphan || page === this.#pages.id)) call(onRefused, asLiveFetchError(error), { changes });
    else if (isOrphan) warnOfRefusal('A save of an earlier page', error);
  }

  #changed(error) {
    this.#error = error;
    const unstored = [...this.#items.values()].filter(({ isUnstored }) => isUnstored).length;
    call(this.#handlers.onQueue, this.#items.size, error, unstored);
  }
}

/** True for a save as `add` stores it. */
const isSave = ({ changes }) => Array.isArray(changes) && changes.every((change) => change !== null && typeof change === 'object');

/** True where the server itself has refused the save for good; after any other error the save waits. */
function isRefusal(error) {
  const { status, code, isTransient } = error;
  // The server's limit or that of a proxy: no later attempt would pass.
  if (status === 413) return true;
  const isServers = error instanceof LiveFetchError && !['unknown', 'no-problem-object'].includes(code);
  // A damaged file will be restored. Another internal error would block the saves behind it.
  return isServers && status !== 401 && (!isTransient || status === 500 && code !== 'file-damaged');
}

function unknownOutcome() {
  return new LiveFetchError({ status: 0, code: 'outcome-unknown',
    detail: 'The save was sent a day ago and never answered. The server may have saved it.' });
}
