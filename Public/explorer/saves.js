// The store's change feed: the number of saves, by any program.

import { Backoff } from '../livefetch/backoff.js';
import { canShare } from '../livefetch/pages.js';

const NAME = 'livefetch saves';
const WAIT = 25;
/** Milliseconds between two requests of a page that cannot share the one that the server holds. */
const PAUSE = 5_000;

/** The history of the store that a token belongs to. */
export const historyOf = (token) => token.split('-')[0];

/**
 * Calls `onSaves(saves)` for every answer that names some, while the page is seen. Calls `onReset()` after
 * the tables may have changed, with the answer of `GET /v1` and whether it is still the same store
 * by the server's word, and awaits `onUnauthorized()` after the token has ended. Ends where
 * the server has no history.
 */
export async function watchSaves(client, token, { onSaves, onReset, onUnauthorized }) {
  const turns = new Turns();
  const backoff = new Backoff();
  let since = token;
  for (;;) {
    const { signal, end } = await whileSeen();
    try {
      const { data } = await turns.ask(signal, since, (wait) => client.transport.json({
        path: `/v1/changes?since=${encodeURIComponent(since)}&wait=${wait}`, signal }));
      since = data.to;
      backoff.succeeded();
      if (data.saves.length > 0) onSaves(data.saves);
    } catch (error) {
      if (error.status === 401) {
        await onUnauthorized();
        continue;
      }
      if (error.status !== 410 && error.isTransient === false) return;
      since = (error.status === 410 && await newestToken(client, onReset, turns.isSchemaChange(error, since))) || since;
      await backoff.wait(signal, error.retryAfter);
    } finally {
      end();
    }
  }
}

/**
 * A browser has six connections to a server: of the pages that are seen one at a time waits for the server,
 * and then tells the others to ask.
 */
class Turns {
  #channel = canShare() ? new BroadcastChannel(NAME) : null;
  /** Aborted when another page was answered after this one had asked; the first request waits for nothing. */
  #told = new AbortController();
  /** The history that a change of the tables has ended, as another page was told. */
  #ended = '';

  constructor() {
    this.#told.abort();
    if (this.#channel) this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  /** Another page was answered. @param ended the history that its answer has ended; null if none was. */
  #hear(ended) {
    this.#ended = ended ?? this.#ended;
    this.#told.abort();
  }

  /**
   * True if the token has ended because the tables have changed, and the store is the same. The server says so to the
   * page that waits; a page that asks afterwards hears only that its token has ended.
   */
  isSchemaChange({ code }, since) {
    return code === 'schema-changed' || historyOf(since) === this.#ended;
  }

  /** The answer of `read(wait)` to the next request; `wait` is the seconds that the server may hold it. */
  async ask(signal, since, read) {
    const told = this.#told.signal;
    try {
      if (!told.aborted) return await this.#wait(AbortSignal.any([signal, told]), since, read);
    } catch (error) {
      if (signal.aborted || !told.aborted) throw error;
    }
    this.#told = new AbortController();
    return read(0);
  }

  async #wait(signal, since, read) {
    if (this.#channel) return navigator.locks.request(NAME, { signal }, () => this.#lead(since, read));
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    return read(0);
  }

  async #lead(since, read) {
    let ended = null;
    try {
      return await read(WAIT);
    } catch (error) {
      if (error.status === 410) ended = this.isSchemaChange(error, since) ? historyOf(since) : '';
      throw error;
    } finally {
      this.#channel.postMessage(ended);
    }
  }
}

/** Reads the token before `onReset` reads the model: a change after that is noticed again. */
async function newestToken(client, onReset, isSchemaChange) {
  try {
    const about = await client.about();
    await onReset(about, isSchemaChange);
    return about.token;
  } catch {
    return null;
  }
}

/** Resolves when the page is seen, to a signal that is aborted when it no longer is. */
async function whileSeen() {
  const isHidden = () => document.visibilityState === 'hidden';
  const change = () => new Promise((resolve) =>
    document.addEventListener('visibilitychange', resolve, { once: true }));
  while (isHidden()) await change();
  const controller = new AbortController();
  const check = () => isHidden() && controller.abort();
  document.addEventListener('visibilitychange', check);
  const end = () => document.removeEventListener('visibilitychange', check);
  return { signal: controller.signal, end };
}
