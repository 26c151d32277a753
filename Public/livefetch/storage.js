// Where a client keeps snapshots and saves: `{get(key), set(key, value), delete(key), keys()}`, all
// asynchronous; keys are text, values are JSON. A key without a value gives undefined.

import { packed, unpacked } from './json.js';

/** A storage in IndexedDB, for browsers: a database of this name. */
export function indexedDBStorage(name) {
  let database;
  const open = () => {
    database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore('values');
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    return database;
  };
  const run = async (mode, work) => {
    const transaction = (await open()).transaction('values', mode);
    const request = work(transaction.objectStore('values'));
    // Without it a browser aborts what is under way when the page closes.
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

/** The same storage, also for BigInts; one that fails (no room, not allowed) is replaced by memory, with a warning. */
export function tolerant(storage) {
  let current = storage;
  const memory = memoryStorage();
  const call = (name) => async (...args) => {
    try {
      return await current[name](...args);
    } catch (error) {
      if (current !== memory) console.warn('livefetch: nothing is stored from now on:', error);
      current = memory;
      return memory[name](...args);
    }
  };
  const [get, set] = [call('get'), call('set')];
  return { name: storage.name, get: async (key) => unpacked(await get(key)),
    set: (key, value) => set(key, packed(value)), delete: call('delete'), keys: call('keys') };
}
