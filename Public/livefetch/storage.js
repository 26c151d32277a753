// The storage of a client's snapshots and saves: `{get(key), set(key, value), delete(key), keys()}`, all
// asynchronous; keys are text, values are JSON. A key without a value gives undefined.

import { packed, unpacked } from './json.js';

/** A storage in IndexedDB, for browsers: a database of this name, opened again after the browser has closed it. */
export function indexedDBStorage(name) {
  let database;
  const close = () => { database = undefined; };
  const open = () => {
    database ??= opened(name, close);
    return database;
  };
  const begin = async (mode) => {
    try {
      return (await open()).transaction('values', mode);
    } catch (error) {
      close();
      if (error?.name !== 'InvalidStateError') throw error;
      return (await open()).transaction('values', mode);
    }
  };
  const run = async (mode, work) => {
    const transaction = await begin(mode);
    const request = work(transaction.objectStore('values'));
    // Without it a browser aborts running requests when the page closes.
    transaction.commit?.();
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  };
  return {
    name,
    get: (key) => run('readonly', (values) => values.get(key)),
    set: (key, value) => run('readwrite', (values) => values.put(value, key)),
    delete: (key) => run('readwrite', (values) => values.delete(key)),
    keys: () => run('readonly', (values) => values.getAllKeys()),
  };
}

/** The connection to a database; `onClosed` is called when it can no longer be used. */
function opened(name, onClosed) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('values');
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const { result } = request;
      result.onclose = onClosed;
      // Another page deletes the database: it waits until every connection is closed.
      result.onversionchange = () => {
        onClosed();
        result.close();
      };
      resolve(result);
    };
  });
}

/** A storage that ends with the program. */
export function memoryStorage() {
  const values = new Map();
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => { values.set(key, value); },
    delete: async (key) => { values.delete(key); },
    keys: async () => [...values.keys()],
  };
}

/**
 * The same storage, also for BigInts and Decimals. A value that it does not take (no room, not allowed) stays in memory,
 * with one warning, and `set` gives false; `get` gives `otherwise` where the storage cannot be read.
 */
export function tolerant(storage) {
  const memory = new Map();
  let hasWarned = false;
  const attempt = async (run, otherwise) => {
    try {
      return await run();
    } catch (error) {
      if (!hasWarned) console.warn('livefetch: the storage has failed, values are kept in memory:', error);
      hasWarned = true;
      return otherwise();
    }
  };
  return {
    name: storage.name,
    get: async (key, otherwise) => (memory.has(key) ? memory.get(key)
      : attempt(async () => unpacked(await storage.get(key)), () => otherwise)),
    set: (key, value) => attempt(async () => {
      await storage.set(key, packed(value));
      memory.delete(key);
      return true;
    }, () => {
      memory.set(key, value);
      return false;
    }),
    delete: (key) => attempt(async () => {
      await storage.delete(key);
      memory.delete(key);
    }, () => { memory.set(key, undefined); }),
    keys: async () => [...new Set([...await attempt(() => storage.keys(), () => []), ...memory.keys()])]
      .filter((key) => !memory.has(key) || memory.get(key) !== undefined),
  };
}
