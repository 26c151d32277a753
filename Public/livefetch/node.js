/* @ts-self-types="./node.d.ts" */
// For Node: a storage in a directory, one file per key.

import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A storage in files of a directory, which is made where it is missing. */
export function fileStorage(directory) {
  const made = mkdir(directory, { recursive: true });
  made.catch(() => {});
  let writes = 0;
  const file = (key) => join(directory, `${encodeURIComponent(key)}.json`);
  return {
    name: directory,
    async get(key) {
      await made;
      try {
        return JSON.parse(await readFile(file(key), 'utf8'));
      } catch (error) {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      }
    },
    /** Replaces the file as a whole: after a crash it holds the old value or the new one. */
    async set(key, value) {
      await made;
      const temporary = `${file(key)}.${process.pid}-${(writes += 1)}.new`;
      const handle = await open(temporary, 'w');
      try {
        await handle.writeFile(JSON.stringify(value));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, file(key));
    },
    delete: (key) => rm(file(key), { force: true }),
    async keys() {
      await made;
      const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
      // Another program's file may have a name that is no encoded key.
      return names.map((name) => keyOf(name.slice(0, -'.json'.length))).filter((key) => key !== undefined);
    },
  };
}

/** The key that a file's name encodes; undefined for another name. */
function keyOf(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
