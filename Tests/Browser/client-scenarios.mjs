// The client library in a browser: saves made offline, and pages that share a connection.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { eventually, pause } from './browser.mjs';
import { isLive, openPage } from './pages.mjs';
import { script } from './server.mjs';

/** A table of things to do. */
const fixture = 'CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, done BOOLEAN NOT NULL DEFAULT 0)';

const state = (wanted) => document.querySelector('#connection').dataset.state === wanted;
const titles = () => [...document.querySelectorAll('#list .text')].map(({ value }) => value);
const entries = (server) => connect(server.address).fetch({ entity: 'todo', sort: 'id' })
  .then(({ sections }) => sections[0].items.map(({ title, done }) => [title, done]));

async function write(page, ...texts) {
  await page.click('#new');
  for (const text of texts) {
    await page.type(text);
    await page.key('Enter');
  }
}

async function offlineTodo({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/todo.html`);
  await page.until(state, { args: ['live'] });
  await write(page, 'Buy bread');
  await page.until(() => document.querySelectorAll('#list .is-pending').length === 0
    && document.querySelectorAll('#list li').length === 1);
  await server.kill();
  await page.until(state, { args: ['offline'] });
  await write(page, 'Water the plants', 'Read a book', 'Buy bread');
  await page.until(() => document.querySelectorAll('#list li').length === 4);
  await page.click('#list li:nth-child(2) input');
  await page.until(() => document.querySelector('#state').textContent === 'offline, 4 to send');
  await eventually(() => page.run(titles), ['Buy bread', 'Water the plants', 'Buy bread', 'Read a book'], 'what is done comes last');
  assert.equal(await page.run(() => document.querySelectorAll('#list .is-pending').length), 3);
  await shoot(page, 'todo-offline');
  await page.close();
  await server.begin();
  const next = await browser.open(`${server.address}/todo.html`);
  await next.until(() => document.querySelectorAll('#list li').length === 3);
  await next.until(() => document.querySelectorAll('#list .is-pending').length === 0);
  assert.deepEqual(await entries(server), [['Buy bread', false], ['Water the plants', false], ['Read a book', true]]);
  assert.match(await next.run(() => document.querySelector('#note').textContent), /title/);
  await next.close();
}

/** Two pages have one queue: the one that stays sends what the other left, and shows its refusal. */
async function sharedQueue({ browser, server }) {
  const open = () => browser.open(`${server.address}/todo.html`);
  const [left, right] = [await open(), await open()];
  for (const page of [left, right]) await page.until(state, { args: ['live'] });
  await server.kill();
  for (const page of [left, right]) await page.until(state, { args: ['offline'] });
  await write(left, 'Of the left', 'Twice');
  await right.until(() => document.querySelectorAll('#list .is-pending').length === 2);
  await write(right, 'Twice', 'Of the right');
  await left.until(() => document.querySelectorAll('#list .is-pending').length === 4);
  await left.close();
  await server.begin();
  await right.until(() => document.querySelectorAll('#list li:not(.is-pending)').length === 3);
  await right.until(() => document.querySelectorAll('#list li').length === 3);
  assert.deepEqual((await entries(server)).map(([title]) => title), ['Of the left', 'Twice', 'Of the right']);
  assert.match(await right.run(() => document.querySelector('#note').textContent), /title/);
  await right.close();
}

/** The page is there, as from a cache, and the server is not. */
async function storedTodo({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/todo.html`);
  await page.until(state, { args: ['live'] });
  await write(page, 'Known before');
  await page.until(() => document.querySelectorAll('#list li:not(.is-pending)').length === 1);
  await page.send('Network.enable');
  await page.send('Network.setBlockedURLs', { urls: ['*/v1*'] });
  await page.go(`${server.address}/todo.html`);
  await page.until(state, { args: ['offline'] });
  assert.deepEqual(await page.run(titles), ['Known before']);
  await write(page, 'Written offline');
  await page.until(() => document.querySelectorAll('#list .is-pending').length === 1);
  assert.deepEqual(await page.run(titles), ['Written offline', 'Known before']);
  await page.go(`${server.address}/todo.html`);
  await page.until(() => document.querySelectorAll('#list .is-pending').length === 1);
  assert.deepEqual(await page.run(titles), ['Written offline', 'Known before']);
  await shoot(page, 'todo-stored');
  await connect(server.address).insert('todo', { title: 'Of somebody else', done: false });
  await page.send('Network.setBlockedURLs', { urls: [] });
  await page.until(state, { args: ['live'] });
  await page.until(() => document.querySelectorAll('#list li:not(.is-pending)').length === 3);
  assert.deepEqual(await page.run(titles), ['Written offline', 'Of somebody else', 'Known before']);
  assert.equal((await entries(server)).length, 3);
  await page.close();
}

// MARK: Many pages

async function manyPages({ browser, server }) {
  const pages = [];
  for (let number = 0; number < 8; number += 1) {
    pages.push(await browser.open(`${server.address}/todo.html`));
    await pages[number].until(state, { args: ['live'], what: `page ${number + 1} of 8 is live` });
  }
  const all = async (wanted) => {
    for (const page of pages) {
      await page.until((texts) => JSON.stringify([...document.querySelectorAll('#list .text')]
        .map(({ value }) => value)) === texts && !document.querySelector('#list .is-pending'),
      { args: [JSON.stringify(wanted)], what: `every page shows ${wanted}` });
    }
  };
  const explorer = await openPage(browser, `${server.address}/?entity=todo`);
  await write(pages[7], 'From the eighth');
  await all(['From the eighth']);
  await connect(server.address).insert('todo', { title: 'From elsewhere', done: false });
  await all(['From elsewhere', 'From the eighth']);
  await explorer.until(() => document.querySelectorAll('.row').length === 2, { what: 'the explorer is live beside them' });
  await explorer.close();
  await pages.shift().close();
  await write(pages[0], 'After the first page has closed');
  await all(['After the first page has closed', 'From elsewhere', 'From the eighth']);
  await server.kill();
  for (const page of pages) await page.until(state, { args: ['offline'] });
  await server.begin();
  for (const page of pages) await page.until(state, { args: ['live'] });
  await write(pages[6], 'After the restart');
  await all(['After the restart', 'After the first page has closed', 'From elsewhere', 'From the eighth']);
  await Promise.all(pages.map((page) => page.close()));
}

/** Counts the requests that the server holds until something is saved. */
const countWaiting = `const send = globalThis.fetch;
  globalThis.waiting = 0;
  globalThis.fetch = async (url, init) => {
    const isHeld = /^\\/v1\\/changes.*wait=[1-9]/.test(url);
    globalThis.waiting += isHeld;
    try { return await send(url, init); } finally { globalThis.waiting -= isHeld; }
  };`;

/** Opens the explorer, which counts its requests in `globalThis.waiting`. */
export async function openCounting(browser, url) {
  const page = await browser.open();
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: countWaiting });
  await page.go(url);
  await page.until(isLive);
  return page;
}

/** How many of the pages wait for the server. */
const waiting = async (pages) => (await Promise.all(pages.map((page) => page.run(() => globalThis.waiting)))).reduce((a, b) => a + b);

/** Waits until one of the pages waits for the server, and the others do not. */
export const oneWaits = (pages) => eventually(() => waiting(pages), 1, 'one page waits for news');

/** The same, and for a second no other one begins to wait. */
async function onlyOneWaits(pages) {
  await oneWaits(pages);
  for (let tries = 0; tries < 10; tries += 1) {
    await pause(100);
    assert.ok(await waiting(pages) <= 1, 'one page waits for news');
  }
}

/** Eight pages that are seen at the same time: one of them waits for the news of all tables. */
async function manyWindows({ browser, server }) {
  const pages = [];
  for (let number = 0; number < 8; number += 1) pages.push(await openCounting(browser, `${server.address}/?entity=todo`));
  const all = async (entity) => {
    script(server.file, `CREATE TABLE ${entity} (id INTEGER PRIMARY KEY)`);
    for (const [index, page] of pages.entries()) {
      await page.until((name) => document.querySelector(`[data-entity=${name}]`) && globalThis.livefetch.page.live.state === 'live',
        { args: [entity], what: `page ${index + 1} lists the table ${entity}` });
    }
  };
  await onlyOneWaits(pages);
  await all('one');
  await pages.shift().close();
  await all('two');
  for (const page of pages.slice(1)) await page.run(appear, 'hidden');
  const hidden = pages.splice(1);
  await all('three');
  await onlyOneWaits([...pages, ...hidden]);
  await connect(server.address).insert('todo', { title: 'Seen', done: false });
  await pages[0].until(() => document.querySelectorAll('.row').length === 1);
  for (const page of [...pages, ...hidden]) {
    await page.close();
  }
}

/** A page that is not served by HTTPS has no Web Locks: it holds no request, and asks now and then. */
async function withoutLocks({ browser, server }) {
  const page = await browser.open();
  await page.send('Page.addScriptToEvaluateOnNewDocument',
    { source: `Object.defineProperty(Navigator.prototype, 'locks', { value: undefined }); ${countWaiting}` });
  await page.go(`${server.address}/?entity=todo`);
  await page.until(isLive);
  script(server.file, 'CREATE TABLE one (id INTEGER PRIMARY KEY)');
  await page.until(() => document.querySelector('[data-entity=one]'), { what: 'the new table is listed' });
  assert.equal(await page.run(() => globalThis.waiting), 0);
  await page.close();
}

/** Makes a page believe that it is hidden or shown. */
const appear = (visibility) => {
  Object.defineProperty(document, 'visibilityState', { value: visibility, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
};

async function hiddenPages({ browser, server }) {
  const open = async () => {
    const page = await browser.open(`${server.address}/todo.html`);
    await page.run(async () => {
      const { connect } = await import('/livefetch.js');
      globalThis.states = [];
      globalThis.causes = [];
      globalThis.live = connect('', { hiddenAfter: 0.2 }).live({ entity: 'todo', sort: 'id' }, {
        onState: (state) => globalThis.states.push(state),
        onChange: (current, { cause }) => globalThis.causes.push(cause) });
    });
    await page.until(() => globalThis.live.state === 'live');
    return page;
  };
  const [leader, other] = [await open(), await open()];
  const shown = () => globalThis.live.sections[0].items.map(({ title }) => title);
  await leader.run(appear, 'hidden');
  await leader.until(() => globalThis.live.state === 'offline');
  const client = connect(server.address);
  await client.insert('todo', { title: 'Unseen', done: false });
  await other.until(() => globalThis.live.sections[0].items.length === 1, { what: 'the other page leads' });
  assert.deepEqual(await leader.run(shown), []);
  await leader.run(appear, 'visible');
  await leader.until(() => globalThis.live.sections[0].items.length === 1);
  assert.deepEqual(await leader.run(() => globalThis.causes), ['snapshot', 'diff'], 'it resumes by its token');
  assert.deepEqual(await leader.run(() => globalThis.states), ['live', 'offline', 'live']);
  assert.deepEqual(await other.run(() => globalThis.states), ['live']);
  for (const page of [leader, other]) {
    await page.close();
  }
}

/** Pages with another credential are another group, also when it changes while they follow. */
async function credentials({ browser, server }) {
  const pages = [];
  for (const user of ['one', 'one', 'two']) {
    const page = await browser.open(`${server.address}/explorer/style.css`);
    await page.run(async (name) => {
      const { connect } = await import('/livefetch.js');
      globalThis.headers = { 'X-User': name };
      globalThis.live = connect('', { headers: globalThis.headers }).live({ entity: 'todo', sort: 'id' });
    }, user);
    await page.until(() => globalThis.live.state === 'live');
    pages.push(page);
  }
  const leaders = (count) => pages[0].until(async (wanted) => (await navigator.locks.query()).held
    .filter(({ name }) => name.endsWith(' leader')).length === wanted, { args: [count],
    what: `there are ${count} streams` });
  await leaders(2);
  await pages[0].run(() => { globalThis.headers['X-User'] = 'three'; });
  await server.kill();
  await server.begin();
  await leaders(3);
  for (const page of pages) await page.until(() => globalThis.live.state === 'live');
  await connect(server.address).insert('todo', { title: 'For all', done: false });
  for (const page of pages) {
    await page.until(() => globalThis.live.sections[0].items.length === 1);
    await page.close();
  }
}

/** A page whose browser has suspended it does not answer: another one takes the lead. */
async function suspendedLeader({ browser, server }) {
  const leader = await browser.open(`${server.address}/todo.html`);
  await leader.until(state, { args: ['live'] });
  const other = await browser.open(`${server.address}/todo.html`);
  await other.until(state, { args: ['live'] });
  await leader.send('Debugger.enable');
  await leader.send('Debugger.pause');
  leader.run(() => 1).catch(() => {});
  await connect(server.address).insert('todo', { title: 'Unseen', done: false });
  await other.until(() => document.querySelectorAll('#list li').length === 1);
  await leader.send('Debugger.disable');
  await leader.until(() => document.querySelectorAll('#list li').length === 1);
  await connect(server.address).insert('todo', { title: 'Seen by both', done: false });
  for (const page of [leader, other]) {
    await page.until(() => document.querySelectorAll('#list li').length === 2);
    await page.close();
  }
}

/** A token function that gives another token at each call: the page has a stream of its own. */
async function freshTokens({ browser, server }) {
  const page = await browser.open(`${server.address}/explorer/style.css`);
  await page.run(async () => {
    const { connect } = await import('/livefetch.js');
    let number = 0;
    globalThis.live = connect('', { token: async () => `token-${number += 1}` }).live({ entity: 'todo' });
  });
  await page.until(() => globalThis.live.state === 'live', { what: 'it connects' });
  await connect(server.address).insert('todo', { title: 'Seen', done: false });
  await page.until(() => globalThis.live.sections[0].items.length === 1);
  await server.kill();
  await page.until(() => globalThis.live.state === 'offline');
  await server.begin();
  await page.until(() => globalThis.live.state === 'live', { what: 'it connects again' });
  await page.close();
}

/** A request that a framework has wrapped in proxies, in two pages: the second one posts it to the first. */
async function proxiedRequest({ browser, server }) {
  const pages = [];
  for (const title of ['One', 'Two']) {
    const page = await browser.open(`${server.address}/explorer/style.css`);
    await page.run(async (text) => {
      const { connect } = await import('/livefetch.js');
      const reactive = (value) => new Proxy(value, { get: (target, name) =>
        (target[name] !== null && typeof target[name] === 'object' ? reactive(target[name]) : target[name]) });
      globalThis.live = connect('').live(reactive({ entity: 'todo', where: 'title IN %@', arguments: [[text]] }));
    }, title);
    await page.until(() => globalThis.live.state === 'live', { what: `page ${title} is live` });
    pages.push(page);
  }
  await connect(server.address).insert('todo', { title: 'Two', done: false });
  await pages[1].until(() => globalThis.live.sections[0].items.length === 1);
  assert.equal(await pages[0].run(() => globalThis.live.sections[0].items.length), 0);
  for (const page of pages) {
    await page.close();
  }
}

export const clientScenarios = {
  'what is typed offline is sent after a reload, and a refusal is shown': { run: offlineTodo, fixture },
  'two pages have one queue, which outlives each': { run: sharedQueue, fixture },
  'a start without the server shows the last state, and resumes': { run: storedTodo, fixture },
  'eight pages follow one server, and go on when the first one closes': { run: manyPages, fixture },
  'eight windows that are all seen hear of new tables, also when the first one closes': { run: manyWindows, fixture },
  'a page without Web Locks hears of new tables': { run: withoutLocks, fixture },
  'a hidden page releases the stream, and resumes when it is shown': { run: hiddenPages, fixture },
  'pages with different credentials share nothing': { run: credentials, fixture },
  'a token function that gives another token at each call connects': { run: freshTokens, fixture },
  'a request of proxies is followed in two pages': { run: proxiedRequest, fixture },
  'a suspended page loses the lead': { run: suspendedLeader, fixture },
};
