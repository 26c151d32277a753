// Staged changes belong to one store, and are kept until they are saved.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { connect } from '../../Public/livefetch.js';
import { pause } from './browser.mjs';
import { oneWaits, openCounting } from './client-scenarios.mjs';
import { isLive, isSaved, openPage, stagedValues } from './pages.mjs';
import { script } from './server.mjs';

const table = (name) => `CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, '${name}');`;

const stage = (page, value) => page.run((text) => {
  const { page: { editing, live } } = globalThis.livefetch;
  editing.staged.set('t', live.sections[0].items[0], 'name', text);
}, value);

const tray = () => document.querySelector('#tray:not([hidden])')?.textContent ?? '';

/** Serves another file at the same address. */
async function serve(server, name) {
  await server.kill();
  server.file = join(server.directory, name);
  await server.begin();
}

async function otherStore({ browser, server, shoot }) {
  script(join(server.directory, 'other.sqlite'), table('B'));
  const page = await openPage(browser, `${server.address}/?entity=t`);
  await stage(page, 'edited A');
  await serve(server, 'other.sqlite');
  await page.until(() => document.title.includes('other.sqlite'), { what: 'the title follows' });
  await page.until(isLive);
  assert.deepEqual(await page.run(stagedValues), []);
  assert.match(await page.run(tray), /^Not shown: 1 change of demo\.sqlite; this server serves other\.sqlite\.Discard$/);
  await shoot(page, 'kept-aside');
  await page.key('s', { ctrl: true });
  await pause(300);
  assert.equal((await connect(server.address).fetch({ entity: 't' })).sections[0].items[0].name, 'B');
  await serve(server, 'demo.sqlite');
  await page.until(() => document.title.includes('demo.sqlite'));
  await page.until(isLive);
  assert.deepEqual(await page.run(stagedValues), [{ name: 'edited A' }]);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.equal((await connect(server.address).fetch({ entity: 't' })).sections[0].items[0].name, 'edited A');
  await page.close();
}

/** Even before the page has heard of the other store. */
async function saveMeetsOtherStore({ browser, server }) {
  script(join(server.directory, 'other.sqlite'), table('B'));
  const page = await openPage(browser, `${server.address}/?entity=t`);
  await stage(page, 'edited A');
  await serve(server, 'other.sqlite');
  await page.run(() => globalThis.livefetch.page.editing.saving.save()).catch(() => {});
  await page.until(() => document.title.includes('other.sqlite'));
  assert.equal((await connect(server.address).fetch({ entity: 't' })).sections[0].items[0].name, 'B');
  await page.close();
}

async function schemaChange({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=t`);
  await stage(page, 'edited');
  script(server.file, 'ALTER TABLE t ADD COLUMN note TEXT');
  await page.until(() => globalThis.livefetch.page.schema.attribute('t', 'note'), { what: 'the column is there' });
  assert.deepEqual(await page.run(stagedValues), [{ name: 'edited' }]);
  await page.until(isLive);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.equal((await connect(server.address).fetch({ entity: 't' })).sections[0].items[0].name, 'edited');
  await page.close();
}

/** Of several windows one hears of the change first, and tells the others: each keeps what is staged in it. */
async function schemaChangeInWindows({ browser, server }) {
  const pages = [];
  for (let number = 0; number < 3; number += 1) pages.push(await openCounting(browser, `${server.address}/?entity=t`));
  for (const [index, page] of pages.entries()) await stage(page, `edited in ${index}`);
  for (const column of ['note', 'remark']) {
    await oneWaits(pages);
    script(server.file, `ALTER TABLE t ADD COLUMN ${column} TEXT`);
    for (const [index, page] of pages.entries()) {
      await page.until((name) => globalThis.livefetch.page.schema.attribute('t', name), { args: [column], what: `the column ${column} is there` });
      assert.deepEqual(await page.run(stagedValues), [{ name: `edited in ${index}` }], `after ${column}`);
    }
  }
  for (const page of pages) {
    await page.close();
  }
}

/** A column that another program renames: the open row follows, and what was staged for it is seen and does not block the rest. */
async function renamedColumn({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=t`);
  script(server.file, 'ALTER TABLE t ADD COLUMN age INTEGER');
  await page.until(() => globalThis.livefetch.page.schema.attribute('t', 'age') && globalThis.livefetch.page.live.state === 'live');
  await page.run(() => {
    const { editing, live, rowPanel } = globalThis.livefetch.page;
    const [item] = live.sections[0].items;
    editing.staged.batch(() => { editing.staged.set('t', item, 'name', 'kept'); editing.staged.set('t', item, 'age', 30); });
    rowPanel.open('t', 1);
  });
  const fields = () => [...document.querySelectorAll('#row-panel .row-field[data-property]')].map(({ dataset }) => dataset.property);
  await page.until(() => document.querySelector('#row-panel [data-property=age]'));
  script(server.file, 'ALTER TABLE t RENAME COLUMN age TO years');
  await page.until(() => document.querySelector('#row-panel [data-property=years]'), { what: 'the row has the new column' });
  assert.deepEqual(await page.run(fields), ['id', 'name', 'years']);
  assert.deepEqual(await page.run(stagedValues), [{ name: 'kept' }]);
  assert.equal(await page.run(() => document.querySelector('.tray-notes').textContent), 'Not staged: “30” in age of t 1, which has no such column now.Discard');
  await shoot(page, 'renamed-column');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.equal((await connect(server.address).object('t', 1)).object.name, 'kept');
  script(server.file, 'ALTER TABLE t RENAME TO other');
  await page.until(() => document.querySelector('#row-panel').hidden, { what: 'the row of a table that is gone is not shown' });
  await page.close();
}

async function tooMuch({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=t`);
  const asks = () => {
    const event = new Event('beforeunload', { cancelable: true });
    dispatchEvent(event);
    return event.defaultPrevented;
  };
  assert.equal(await page.run(asks), false);
  await page.run(() => { globalThis.large = 'x'.repeat(6_000_000); });
  await page.run(() => {
    const { page: { editing, live } } = globalThis.livefetch;
    editing.staged.set('t', live.sections[0].items[0], 'name', globalThis.large);
  });
  assert.equal(await page.run(asks), true);
  assert.match(await page.run(() => document.querySelector('.tray-notes').textContent), /a reload loses them/);
  await shoot(page, 'not-kept');
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
  assert.equal(await page.run(asks), false);
  assert.equal(await page.run(tray), '');
  await page.close();
}

async function outage({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=t`);
  await stage(page, 'edited');
  await server.kill();
  await page.key('s', { ctrl: true });
  await page.until(() => /cannot be reached/.test(document.querySelector('.tray-problem')?.textContent), { what: 'the tray complains' });
  await server.begin();
  await page.until(isLive);
  await page.until(() => !document.querySelector('.tray-problem'), { what: 'the complaint is gone' });
  assert.deepEqual(await page.run(stagedValues), [{ name: 'edited' }]);
  await page.close();
}

/** The answers to saves are lost as often as `globalThis.lost` says. */
const loseAnswers = () => {
  const send = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const response = await send(url, init);
    if (!String(url).endsWith('/v1/save') || globalThis.lost <= 0) return response;
    globalThis.lost -= 1;
    throw new TypeError('the connection was lost');
  };
};

/** A new row is saved once, though its answer is lost and the page is reloaded before it is saved again. */
async function lostAnswer({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=t`);
  await page.run(loseAnswers);
  await page.run(() => {
    globalThis.lost = 1;
    const { client, page: { editing } } = globalThis.livefetch;
    editing.staged.insert('t', { name: 'once' }, client.temporaryID());
  });
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('.tray-problem'), { what: 'the tray complains' });
  await page.reload();
  await page.until(() => globalThis.livefetch?.page.editing.staged.count === 1);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.deepEqual((await connect(server.address).fetch({ entity: 't', sort: 'id' })).sections[0].items.map(({ name }) => name), ['A', 'once']);
  await importedOnce(page, server);
  await page.close();
}

async function importedOnce(page, server) {
  await page.run(loseAnswers);
  await page.run(() => {
    globalThis.lost = 1;
    const data = new DataTransfer();
    data.items.add(new File(['name\nrow'], 'rows.csv'));
    document.querySelector('#result').dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
  });
  await page.until(() => document.querySelector('.import .primary:not(:disabled)'));
  await page.click('.import .primary');
  await page.until(() => document.querySelector('.import .complaint li'), { what: 'the import complains' });
  await page.click('.import .primary');
  await page.until(() => !document.querySelector('.import'));
  assert.equal((await connect(server.address).fetch({ entity: 't', as: 'count' })).total, 3);
}

/** The first answers of some paths come from a proxy that is busy. */
const busyAtFirst = `const send = globalThis.fetch;
  globalThis.left = { '/v1/model': [503], '/v1': [429], '/v1/changes': [429, 503] };
  globalThis.fetch = (url, init) => {
    const status = globalThis.left[new URL(url, location.href).pathname]?.shift();
    return status ? Promise.resolve(new Response('<h1>busy</h1>', { status })) : send(url, init);
  };`;

async function busyProxy({ browser, server }) {
  const page = await browser.open();
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: busyAtFirst });
  await page.go(`${server.address}/?entity=t`);
  await page.until(isLive, { what: 'the page starts' });
  script(server.file, 'ALTER TABLE t ADD COLUMN note TEXT');
  await page.until(() => globalThis.livefetch.page.schema.attribute('t', 'note'), { what: 'the change feed goes on' });
  assert.deepEqual(await page.run(() => globalThis.left), { '/v1/model': [], '/v1': [], '/v1/changes': [] });
  await page.close();
}

const fixture = table('A');

export const storeScenarios = {
  'what is staged for one database is not saved into another at the same address': { run: otherStore, fixture },
  'a save that meets another database at the same address saves nothing': { run: saveMeetsOtherStore, fixture },
  'what is staged outlives a change of the tables': { run: schemaChange, fixture },
  'what is staged in several windows outlives a change of the tables': { run: schemaChangeInWindows, fixture },
  'a column that is renamed is one in the open row as well, and blocks no save': { run: renamedColumn, fixture },
  'staged changes that the browser does not keep are said, and leaving asks': { run: tooMuch, fixture },
  'a save whose answer is lost is made once': { run: lostAnswer, fixture },
  'a proxy that is busy at first delays the page, and does not end it': { run: busyProxy, fixture },
  'the tray complains of an outage until the server is back': { run: outage, fixture },
};
