// The client: one server, its live fetches, its saves.

import { Feed } from './feed.js';
import { copied } from './json.js';
import { Live } from './live.js';
import { canShare, randomText } from './pages.js';
import { keyedID, Pending, sendable } from './pending.js';
import { SaveQueue } from './queue.js';
import { SharedStream } from './shared.js';
import { StoredResults } from './results.js';
import { indexedDBStorage, tolerant } from './storage.js';
import { clean, LiveFetchError, route, Transport } from './transport.js';

/** Milliseconds for which a diff waits for the answer of a save that inserts. */
const ANSWER_SOON = 150;

/**
 * Connects to a server.
 *
 * @param {string} [url] the server's address; of a page that it serves itself, nothing
 * @param {import('../livefetch').Options} [options]
 * @returns {import('../livefetch').Client}
 */
export function connect(url = '', options = {}) {
  return new Client(url, options);
}

class Client {
  transport;
  /** Unfinished saves, oldest first. */
  pending = [];
  #options;
  #lives = new Set();
  #feeds = new Map();
  #shared;
  #inserting = new Set();
  #temporaryIDs = 0;
  #idPrefix = `new-${randomText()}`;
  #storage = null;
  #results = null;
  #queue = null;
  #handlesRefusals = false;

  constructor(url, { stream = true, digest = true, int64 = 'string', multiplex = true, share = true, hiddenAfter,
    offline, onRefused, onQueue, ...rest }) {
    this.#options = { stream, digest, int64, multiplex, hiddenAfter };
    this.transport = new Transport(url, { ...rest, int64 });
    if (offline) {
      this.#storage = tolerant(offline === true ? defaultStorage(this.transport.base) : offline);
      this.#results = new StoredResults(this.#storage);
      this.#queue = new SaveQueue(this.#storage, this.transport, { onRefused, onQueue,
        onItem: ({ save, answer }) => this.#follow(save.changes, save, answer).catch(() => {}),
        onSending: ({ save, answer }) => this.#holdDiffs(save.changes, answer) });
      this.#handlesRefusals = onRefused !== undefined;
    }
    this.#shared = new Feed(this.transport, {
      isMany: true, isStreaming: stream, hiddenAfter,
      stream: share && !rest.fetch && canShare() ? sharedSource(this.transport) : undefined,
      onRefused: (error, lives) => this.#refused(error, lives),
    });
  }

  // MARK: Reading

  /** The answer of a fetch request once: a snapshot. */
  async fetch(request, { signal } = {}) {
    const wire = { ...request, int64: request.int64 ?? this.#options.int64 };
    return (await this.transport.json({ ...route(wire), signal })).data;
  }

  /** One object as the store holds it, with its ETag. */
  async object(entity, id, { signal } = {}) {
    if (['.', '..'].includes(id)) return this.#objectByFetch(entity, id, signal);
    const path = objectPath(entity, id);
    const { data, headers } = await this.transport.json({ path, signal });
    const etag = headers.get('ETag');
    if (this.#options.int64 !== 'string' || Object.values(data).every(isSafe)) return { object: data, etag };
    // The plain object alone has an ETag; one that is too old refuses a save.
    const exact = await this.transport.json({ path: `${path}?int64=string`, signal });
    return { object: exact.data, etag };
  }

  /** An object whose id no path can end with, as `fetch` takes it for a way to another folder. */
  async #objectByFetch(entity, id, signal) {
    const request = { entity, where: 'SELF == %@', arguments: [id] };
    // In this order an ETag that is too old refuses a save; one that is too new would overwrite.
    const [tagged] = (await this.fetch({ ...request, select: ['@etag'] }, { signal })).sections[0].items;
    const [object] = (await this.fetch(request, { signal })).sections[0].items;
    if (tagged && object) return { object, etag: `"${tagged['@etag']}"` };
    throw new LiveFetchError({ status: 404, code: 'unknown-id', title: 'Not found',
      detail: 'There is no object with this id.' });
  }

  model() {
    return this.#document('/v1/model');
  }

  about() {
    return this.#document('/v1');
  }

  /** With `offline`, the last answer where the server cannot be reached. */
  async #document(path) {
    try {
      const { data } = await this.transport.json({ path });
      this.#storage?.set(path, data);
      return data;
    } catch (error) {
      const stored = error.isTransient ? await this.#storage?.get(path) : undefined;
      if (stored === undefined) throw error;
      return stored;
    }
  }

  /** Keeps the result of a fetch request in step. */
  live(request, handlers = {}) {
    const { int64, digest, multiplex } = this.#options;
    const hasDigest = digest && ['objects', 'ids'].includes(request.as ?? 'objects');
    const live = new Live(copied(clean(request)), handlers, this, { int64, checksDigest: hasDigest });
    this.#lives.add(live);
    const follow = () => (multiplex ? this.#shared.add(live) : this.#followAlone(live));
    // A stored result that cannot be shown is replaced by the server's.
    if (this.#storage) this.#restore(live).catch(() => {}).then(() => live.isClosed || follow());
    else follow();
    return live;
  }

  /** Shows the stored result, with the saves that wait, before the first request to the server. */
  async #restore(live) {
    const [result] = await Promise.all([this.#results.load(live), this.#queue.loaded]);
    if (result) live.restore(result);
  }

  /** Ends the live fetches; saves that wait stay in the storage. Resolves when all is stored. */
  async close() {
    for (const live of [...this.#lives]) live.close();
    await Promise.all([this.#queue?.close(), this.#results?.close()]);
  }

  // MARK: Saving

  /**
   * Saves many changes as one transaction. Live fetches show them at once, and what the server
   * made of them after its answer; if it refuses, they show what was there before. With `offline` the
   * save is kept until the server answers, also after a reload.
   */
  save(changes, options = {}) {
    return this.#save(changes, options, (answer) => answer);
  }

  /** The part of the answer that `wanted` gives; a change that cannot be sent rejects at once. */
  #save(changes, options, wanted) {
    let named;
    try {
      named = changes.map((change, index) => this.#named(sendable(change), index, options));
    } catch (error) {
      return Promise.reject(error);
    }
    if (!this.#queue) return this.#follow(named, options, this.#send(named, options)).then(wanted);
    const { save, answer } = this.#queue.add(named, options);
    return this.#handled(this.#follow(save.changes, options, answer).then(wanted));
  }

  #named(change, index, options) {
    return change.insert && !change.temporaryID ? { ...change, temporaryID: this.#idOf(index, options) } : change;
  }

  /** A save that is repeated under its key must be the same save: its temporary ids are made of the key. */
  #idOf(index, { idempotencyKey }) {
    return idempotencyKey === undefined ? this.temporaryID() : keyedID(idempotencyKey, index);
  }

  /** A promise whose rejection needs no handler where `onRefused` gets every refusal. */
  #handled(promise) {
    if (this.#handlesRefusals) promise.catch(() => {});
    return promise;
  }

  async #send(changes, options) {
    const answer = this.transport.save(changes, options);
    this.#holdDiffs(changes, answer);
    return (await answer).data;
  }

  /** Shows the changes until their answer, and from then until live fetches contain them. */
  async #follow(changes, { optimistic }, answer) {
    const pending = optimistic === false ? null : this.#begin(changes);
    try {
      const data = await answer;
      this.pending.forEach((each) => each.replaceIDs(data.ids));
      pending?.answer(data);
      this.#lives.forEach((live) => live.answered());
      return data;
    } catch (error) {
      this.pending = this.pending.filter((other) => other !== pending);
      this.#lives.forEach((live) => live.refresh('rollback'));
      throw error;
    } finally {
      this.forgetSettled();
    }
  }

  insert(entity, values, options = {}) {
    const temporaryID = this.#idOf(0, options);
    const wanted = (answer) => ({ ...answer, id: answer.ids[temporaryID] });
    return this.#save([{ insert: entity, temporaryID, values }], options, wanted);
  }

  /** @param options those of a save, and `base` (the values seen) or `ifMatch` (an ETag). */
  update(entity, id, values, { base, ifMatch, ...options } = {}) {
    return this.save([{ update: entity, id, values, ...clean({ base, ifMatch }) }], options);
  }

  delete(entity, id, { base, ifMatch, ...options } = {}) {
    return this.save([{ delete: entity, id, ...clean({ base, ifMatch }) }], options);
  }

  /** A name for an object that does not exist yet, for use within one save. */
  temporaryID() {
    return `${this.#idPrefix}-${String((this.#temporaryIDs += 1)).padStart(6, '0')}`;
  }

  #begin(changes) {
    const pending = new Pending(changes);
    this.pending.push(pending);
    this.#lives.forEach((live) => pending.concerns(live) && live.edited());
    return pending;
  }

  /** Lets go of the saves that every live fetch contains. */
  forgetSettled() {
    this.#lives.forEach((live) => live.keepAnswered());
    this.pending = this.pending.filter((pending) => !pending.token || [...this.#lives].some((live) => pending.concerns(live)));
  }

  // MARK: For live fetches

  /** Resolves when no insert waits for its answer, or has waited for long enough. */
  async answers() {
    await Promise.all(this.#inserting);
  }

  /** A connection to the server was opened. */
  reached() {
    this.#queue?.reached();
  }

  /** A connection to the server was lost. */
  lost() {
    this.#queue?.lost();
  }

  resultChanged(live) {
    this.#results?.changed(live);
  }

  drop(live) {
    this.#lives.delete(live);
    this.#shared.remove(live);
    this.#feeds.get(live)?.remove(live);
    this.#feeds.delete(live);
  }

  /** Delays diffs shortly while an insert is sent: its answer has the id of the new object. */
  #holdDiffs(changes, answer) {
    if (!changes.some((change) => change.insert)) return;
    const timer = new Promise((resolve) => setTimeout(resolve, ANSWER_SOON));
    const soon = Promise.race([answer.catch(() => {}), timer]);
    this.#inserting.add(soon);
    soon.finally(() => this.#inserting.delete(soon));
  }

  /**
   * One connection for all is refused: the fetch that is to blame has one of its own, and its own
   * refusal; without a name in the refusal, each has.
   */
  #refused(error, lives) {
    const isRouteMissing = error.code !== 'unknown-entity' && [404, 405, 501].includes(error.status);
    if (isRouteMissing) this.#options.multiplex = false;
    else if (error.status === 401 || error.status === 403) return false;
    const blamed = lives.filter(({ name }) => name === error.problem.fetch);
    for (const live of blamed.length > 0 ? blamed : lives) {
      this.#shared.remove(live);
      this.#followAlone(live);
    }
    return true;
  }

  #followAlone(live) {
    const { stream, hiddenAfter } = this.#options;
    const feed = new Feed(this.transport, { isMany: false, isStreaming: stream, hiddenAfter });
    this.#feeds.set(live, feed);
    feed.add(live);
  }
}

function sharedSource(transport) {
  const shared = new SharedStream(transport);
  return (...args) => shared.source(...args);
}

function defaultStorage(base) {
  if (typeof indexedDB !== 'undefined') return indexedDBStorage(`livefetch ${base}`);
  throw new TypeError('livefetch: without IndexedDB, `offline` needs a storage: fileStorage(DIRECTORY) in Node.');
}

const isSafe = (value) =>
  typeof value !== 'bigint' && (!Number.isInteger(value) || Number.isSafeInteger(value));

function objectPath(entity, id) {
  return `/v1/objects/${encodeURIComponent(entity)}/${encodeURIComponent(id)}`;
}
