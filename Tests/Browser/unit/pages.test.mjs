// The lock that one page of a browser has at a time, and when it is taken from a page that is suspended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pages } from '../../../Public/livefetch/pages.js';

/** Web Locks of several pages: `of(clientId)` is the lock manager of one. */
class Locks {
  held = [];
  pending = [];
  stolen = [];

  of(clientId) {
    const query = async () => ({ held: this.held.map(({ name, clientId: id }) => ({ name, clientId: id })), pending: [] });
    const request = (name, ...rest) => this.#request(clientId, name, rest.length > 1 ? rest[0] : {}, rest.at(-1));
    return { query, request };
  }

  #request(clientId, name, { signal, steal }, run) {
    return new Promise((resolve, reject) => {
      const entry = { clientId, name, run, resolve, reject };
      signal?.addEventListener('abort', () => {
        if (!this.pending.includes(entry)) return;
        this.pending = this.pending.filter((each) => each !== entry);
        reject(signal.reason);
      });
      if (steal) {
        for (const other of this.held.filter((each) => each.name === name)) {
          this.stolen.push([other.clientId, clientId]);
          other.reject(new DOMException('stolen', 'AbortError'));
        }
        this.held = this.held.filter((each) => each.name !== name);
        this.pending.unshift(entry);
      } else this.pending.push(entry);
      this.#grant();
    });
  }

  #grant() {
    for (const entry of [...this.pending]) {
      if (this.held.some(({ name }) => name === entry.name)) continue;
      this.pending = this.pending.filter((each) => each !== entry);
      this.held.push(entry);
      Promise.resolve().then(() => entry.run({})).then(entry.resolve, entry.reject).finally(() => {
        this.held = this.held.filter((each) => each !== entry);
        this.#grant();
      });
    }
  }
}

/** Pages of one name, whose timers the test moves on by `pass(seconds)`. */
async function opened(context, count) {
  context.mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'], now: 1e12 });
  // It has no part in the timers of the test.
  context.mock.method(AbortSignal, 'timeout', (limit) => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new DOMException('too late', 'TimeoutError')), limit);
    return abort.signal;
  });
  const locks = new Locks();
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  let current;
  // Each call is that of the page that made it.
  const as = (id) => { current = locks.of(id); };
  const shared = { query: () => current.query(), request: (...args) => current.request(...args) };
  Object.defineProperty(globalThis, 'navigator', { value: { locks: shared }, configurable: true });
  globalThis.document = new EventTarget();
  const pages = Array.from({ length: count }, (_, number) => {
    as(`page ${number}`);
    return new Pages('queue', () => {});
  });
  context.after(() => {
    pages.forEach((page) => page.close());
    delete globalThis.document;
    if (before) Object.defineProperty(globalThis, 'navigator', before);
    else delete globalThis.navigator;
  });
  const rest = async () => { for (let n = 0; n < 30; n += 1) await new Promise((resolve) => { setImmediate(resolve); }); };
  const pass = async (seconds) => {
    for (let n = 0; n < seconds; n += 1) {
      context.mock.timers.tick(1000);
      await rest();
    }
  };
  const run = (number, body) => {
    as(`page ${number}`);
    return pages[number].exclusively(body);
  };
  return { locks, pages, run, pass };
}

const seconds = (count) => new Promise((resolve) => { setTimeout(resolve, count * 1000); });

test('pages that wait for their turn take no lock from one that works, however many there are', async (context) => {
  const { locks, run, pass } = await opened(context, 6);
  const turns = [0, 0, 0, 0, 0, 0];
  let most = 0;
  let running = 0;
  const work = async (number) => {
    for (let turn = 0; turn < 3; turn += 1) {
      await run(number, async () => {
        running += 1;
        most = Math.max(most, running);
        await seconds(20);
        running -= 1;
        turns[number] += 1;
      });
    }
  };
  const all = Promise.all(turns.map((_, number) => work(number)));
  // Each page has its turn once in 120 s.
  await pass(130);
  assert.ok(Math.min(...turns) >= 1, `turns: ${turns}`);
  await pass(260);
  await all;
  assert.deepEqual([turns, most, locks.stolen], [[3, 3, 3, 3, 3, 3], 1, []]);
});

test('the lock of a suspended page is taken once, and the pages behind it follow in turn', async (context) => {
  const { locks, run, pass } = await opened(context, 3);
  const suspended = run(0, () => new Promise(() => {}));
  suspended.catch(() => {});
  const done = [];
  const all = Promise.all([1, 2].map((number) => run(number, async () => {
    await seconds(15);
    done.push(number);
  })));
  await pass(50);
  assert.deepEqual([done, locks.stolen], [[], []]);
  await pass(80);
  await all;
  await assert.rejects(suspended, { name: 'AbortError' });
  assert.deepEqual([done.length, locks.stolen.length], [2, 1]);
});

test('a page that is closed while it waits takes no lock', async (context) => {
  const { locks, pages, run, pass } = await opened(context, 2);
  run(0, () => new Promise(() => {})).catch(() => {});
  run(1, () => {}).catch(() => {});
  await pass(30);
  pages[1].close();
  await pass(120);
  assert.deepEqual(locks.stolen, []);
});

test('an error of the work is handed on', async (context) => {
  const { run } = await opened(context, 1);
  await assert.rejects(run(0, async () => { throw new RangeError('no'); }), RangeError);
});
