// The newest result of each live fetch in a storage, so that the next start shows it without a network
// and resumes from its token.

import { fnv1a } from './digest.js';
import { stringify } from './json.js';

/** Milliseconds from one write to the next: changes between them are written together. */
const INTERVAL = 1000;
/** The results of as many requests are kept, those that were used last. */
const MOST = 50;
const INDEX = 'results';

export class StoredResults {
  #storage;
  #changed = new Set();
  #timer = null;
  #written = 0;
  /** Writes, one after the other. */
  #writes = Promise.resolve();
  #stop = new AbortController();

  constructor(storage) {
    this.#storage = storage;
    const flush = () => this.flush();
    globalThis.addEventListener?.('pagehide', flush, { signal: this.#stop.signal });
    globalThis.document?.addEventListener('visibilitychange', flush, { signal: this.#stop.signal });
  }

  /** The result that was kept of the request of this live fetch, or undefined. */
  async load({ wire }) {
    const { key, text } = place(wire);
    const stored = await this.#storage.get(key);
    if (stored?.request !== text || !isResult(stored.result)) return undefined;
    this.#writes = this.#writes.then(() => this.#used([key]));
    return stored.result;
  }

  /** The result of this live fetch has changed. */
  changed(live) {
    this.#changed.add(live);
    // The clock may have been set back.
    const pause = Math.min(INTERVAL, Math.max(0, this.#written + INTERVAL - Date.now()));
    this.#timer ??= setTimeout(() => this.flush(), pause);
  }

  /** Writes what has changed; resolves when everything is written. */
  flush() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#written = Date.now();
    const lives = [...this.#changed].filter(({ resumeToken }) => resumeToken !== undefined);
    this.#changed.clear();
    const places = lives.map(({ wire, result }) => ({ ...place(wire), result }));
    const stored = places.map(({ key, text, result }) => this.#storage.set(key, { request: text, result }));
    this.#writes = Promise.all([this.#writes, ...stored]).then(() => this.#used(places.map(({ key }) => key)));
    return this.#writes;
  }

  close() {
    this.#stop.abort();
    return this.flush();
  }

  /** Removes the results that were used longest ago. */
  async #used(keys) {
    if (keys.length === 0) return;
    const before = (await this.#storage.get(INDEX)) ?? [];
    const newest = [...new Set([...keys, ...before])];
    for (const old of newest.splice(MOST)) await this.#storage.delete(old);
    await this.#storage.set(INDEX, newest);
  }
}

/** True for a result as a live fetch has it, which a damaged storage may not hold. */
function isResult(result) {
  const { token, sections = [] } = result ?? {};
  return typeof token === 'string' && Array.isArray(sections) && sections.every((section) => Array.isArray(section?.items));
}

function place(wire) {
  const text = stringify(Object.fromEntries(Object.entries(wire).sort(([a], [b]) => (a < b ? -1 : 1))));
  return { text, key: `result/${fnv1a(text).toString(16)}-${text.length}` };
}
