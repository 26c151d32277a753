// The page on files that nobody prepared for it: views, tables without a key, read-only stores.

import assert from 'node:assert/strict';
import { isLive, pressAction, still } from './pages.mjs';
import { script } from './server.mjs';

export const shapes = `
  CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT, Year INTEGER);
  CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL, ArtistId INTEGER REFERENCES Artist);
  CREATE TABLE log (line TEXT, at INTEGER);
  CREATE TABLE "Nothing" (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER);
  CREATE VIEW recent AS SELECT Name, Year FROM Artist WHERE Year > 1990;
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO Artist SELECT i, 'Artist ' || i, 1950 + i FROM n;
  INSERT INTO Album SELECT ArtistId, 'Album ' || ArtistId, ArtistId FROM Artist;
  INSERT INTO log SELECT 'line ' || ArtistId, ArtistId FROM Artist;`;

export const connectionText = () => document.querySelector('#connection-text').textContent;
const firstCells = () => [...document.querySelectorAll('.grid-body .row:not(.is-leaving)')]
  .map((row) => ({ y: row.livefetchRow.y, text: row.querySelector('.cell').textContent }))
  .sort((a, b) => a.y - b.y).map(({ text }) => text);
export const labels = () => [...document.querySelectorAll('.summary button')].map((each) => each.ariaLabel ?? each.textContent);
const parts = () => [...document.querySelectorAll('.part:not([hidden]) h2')].map((each) => each.textContent);

async function open({ browser, server }, query, options) {
  const page = await browser.open(`${server.address}/?${query}`, options);
  await page.until(() => ['live', 'plain', 'failed'].includes(globalThis.livefetch?.page.live?.state));
  return page;
}

/** Rows are shown once and on request; nothing offers to change them. */
async function showsPlainRows(page, reason) {
  assert.equal(await page.run(connectionText), `not live: ${reason}`);
  assert.equal(await page.run(() => document.querySelector('#connection').dataset.state), 'plain');
  assert.deepEqual(await page.run(labels), ['Refresh', 'Groups', 'Columns', 'Export']);
  assert.deepEqual(await page.run(() => document.querySelector('#welcome').hidden), true);
  assert.ok(!(await page.run(parts)).includes('Live'));
  assert.match(await page.run(() => document.querySelector('.code').textContent), /^curl -G \\\n/);
  await page.click('.row .cell', { count: 2 });
  assert.equal(await page.run(() => document.querySelector('.editor')), null, 'no cell is edited');
  assert.equal(await page.run(() => getComputedStyle(document.querySelector('.row-remove')).display), 'none');
}

async function notLive(scenario) {
  const { server, shoot } = scenario;
  const page = await open(scenario, 'entity=recent&sort=Year');
  assert.equal((await page.run(firstCells))[0], 'Artist 41');
  assert.deepEqual(await page.run(() => globalThis.livefetch.page.grid.columns.map(({ name }) => name)), ['Name', 'Year'], 'no key that is not there');
  await showsPlainRows(page, 'recent is a view');
  await shoot(page, 'view');
  script(server.file, "UPDATE Artist SET Name = 'Renamed' WHERE ArtistId = 41");
  await page.until(() => {
    document.querySelector('.summary .text-button').click();
    return [...document.querySelectorAll('.row .cell')].some(({ textContent }) => textContent === 'Renamed');
  }, { what: 'Refresh shows the new name' });
  await page.close();
  const log = await open(scenario, 'entity=log&sort=at');
  assert.equal((await log.run(firstCells))[0], 'line 1');
  await showsPlainRows(log, 'log has no primary key');
  await log.run(() => globalThis.livefetch.page.go({ ...globalThis.livefetch.page.view, entity: 'Artist', sort: 'Name' }));
  await log.until(isLive, { what: 'a table with a key is live' });
  assert.ok((await log.run(labels)).includes('New Artist'));
  await log.run(() => globalThis.livefetch.page.change({ where: "now() > CAST(0, 'NSDate')" }));
  await log.until(() => globalThis.livefetch.page.live.state === 'plain', { what: 'now() is fetched once' });
  assert.equal(await log.run(connectionText),
    'not live: now() changes without a save, so the fetch cannot be followed');
  await log.close();
}

async function readOnly(scenario) {
  for (const [width, scheme] of [[1920, 'light'], [390, 'dark']]) {
    const page = await open(scenario, 'entity=Album&sort=Title', { width, scheme, height: 900 });
    await showsPlainRows(page, 'the database is served read-only');
    assert.match(await page.run(() => document.querySelector('.row').textContent), /Artist 1/);
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the page');
    await page.run(() => globalThis.livefetch.page.rowPanel.open('Album', 1));
    await page.until(() => document.querySelector('.row-panel [data-property=Artist] .row-text')?.textContent === 'Artist 1',
      { what: 'the panel names the related row' });
    await scenario.shoot(page, `read-only-${width}`);
    await page.close();
  }
}

// MARK: No rows

const noteText = () => document.querySelector('.empty')?.textContent ?? '';
const entities = () => [...document.querySelectorAll('.entity')].map(({ dataset }) => dataset.entity);

async function emptyDatabase({ browser, server, shoot }) {
  const page = await browser.open(server.address, { width: 1920, height: 1000 });
  await page.until(noteText, { what: 'a note is shown' });
  assert.match(await page.run(noteText), /^This database has no tables yet.*CREATE TABLE/s);
  for (const key of ['n', '/', '[', ']', '?', 'Escape', 'End']) await page.key(key);
  await shoot(page, 'no-tables');
  script(server.file, 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)');
  await page.until(isLive, { what: 'the new table is shown' });
  assert.match(await page.run(noteText), /^note has no rows yet/);
  assert.deepEqual(await page.run(entities), ['note']);
  await shoot(page, 'no-rows');
  const line = await page.run(() => document.querySelector('.empty .code').textContent);
  const [, address, values] = /^curl \\\s+(\S+) \\\s+--json '(.*)'\s*$/.exec(line);
  const { status } = await fetch(address, { method: 'POST', body: values,
    headers: { 'Content-Type': 'application/json' } });
  assert.equal(status, 201, 'the line shown inserts a row');
  await page.until(() => !document.querySelector('.empty') && document.querySelectorAll('.row').length === 1);
  await page.close();
}

async function droppedTable(scenario) {
  const { server, shoot } = scenario;
  const page = await open(scenario, 'entity=Nothing&sort=name');
  assert.match(await page.run(noteText), /^Nothing has no rows yet.*"name":"text"/s);
  await page.click('.empty .button');
  await page.until(() => document.querySelector('.dialog.insert'), { what: 'the form of a new row' });
  await page.key('Escape');
  script(server.file, 'CREATE TABLE "Another" (id INTEGER PRIMARY KEY)');
  await page.until(() => document.querySelector('[data-entity="Another"]'), { what: 'the new table is listed' });
  script(server.file, 'DROP TABLE "Nothing"');
  await page.until(() => /^There is no table Nothing/.test(document.querySelector('.empty')?.textContent));
  assert.deepEqual(await page.run(entities), ['Artist', 'Album', 'log', 'recent', 'Another']);
  for (const key of ['n', '/', '[', 'End', 'Delete']) await page.key(key);
  await shoot(page, 'dropped');
  await page.run(() => [...document.querySelectorAll('.empty .button')]
    .find(({ textContent }) => textContent === 'Artist').click());
  await page.until(() => globalThis.livefetch.page.live?.current?.count === 60, { what: 'another table is shown' });
  assert.equal(await page.run(noteText), '');
  script(server.file, 'ALTER TABLE Artist ADD COLUMN Genre TEXT');
  await page.until(() => [...document.querySelectorAll('.head-name')].some(({ textContent }) => textContent === 'Genre'),
    { what: 'the new column is shown' });
  await page.until(isLive);
  await page.run(() => history.back());
  await page.until(() => /^There is no table Nothing/.test(document.querySelector('.empty')?.textContent));
  await page.close();
}

// MARK: The demonstration

/** Random edits belong to the samples: nobody offers to damage a file of one's own. */
async function noDemonstration(scenario) {
  const offers = () => ({ edits: [...document.querySelectorAll('.action')].some((each) => each.ariaLabel === 'Make random edits'),
    todo: !document.querySelector('#todo-link').hidden });
  const { server } = scenario;
  const own = await open(scenario, 'entity=Artist&sort=Year');
  assert.deepEqual(await own.run(offers), { edits: false, todo: false });
  await own.close();
  await server.kill('SIGTERM');
  server.file = `${server.file}.sample`;
  server.isSample = true;
  await server.begin();
  const sample = await open(scenario, 'entity=City&sort=-population&limit=50');
  assert.deepEqual(await sample.run(offers), { edits: true, todo: false });
  await sample.run(pressAction, 'Make random edits');
  await sample.until(() => document.querySelector('dialog.question'));
  await sample.click('dialog.question .primary');
  await sample.until(() => globalThis.livefetch.page.demonstrations.edits.isRunning);
  await sample.run(() => globalThis.livefetch.page.change({ where: "now() > '2000-01-01T00:00:00Z'" }));
  await sample.until(() => globalThis.livefetch.page.live.state === 'plain');
  await sample.run(pressAction, 'Stop the edits');
  assert.equal(await sample.run(() => globalThis.livefetch.page.demonstrations.edits.isRunning), false, 'edits end where rows are not live');
  await sample.until(() => ![...document.querySelectorAll('.action')].some(({ ariaLabel }) => /edits/.test(ariaLabel)), { what: 'none are offered' });
  await sample.close();
}

// MARK: A million rows

const million = `
  CREATE TABLE Item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER, kind TEXT);
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
    INSERT INTO Item SELECT i, printf('Item %07d', i), (i * 7919) % 100003, char(65 + i / 40000) FROM n;
  CREATE INDEX by_name ON Item (name);
  CREATE INDEX by_kind ON Item (kind, name);`;

/** The rows that are seen, once they are there: `{first, last, count, inDocument}`. */
const seen = (page) => page.until(() => {
  const { grid, live } = globalThis.livefetch.page;
  const rows = grid.visible;
  return rows.length > Math.min(8, grid.pageSize - 4) && live.current && { first: rows[0].name, last: rows.at(-1).name,
    inDocument: document.querySelectorAll('.row').length, at: grid.cursor.id };
}, { what: 'rows are seen' });

const scrollTo = (page, share) => page.run((part) => {
  const { element } = globalThis.livefetch.page.grid;
  element.scrollTop = (element.scrollHeight - element.clientHeight) * part;
}, share);

/** Waits until the row that the cursor is at shows. */
const current = (page, name) => page.until((wanted) =>
  document.querySelector('.row.is-current .cell')?.textContent === wanted,
{ args: [name], what: `the cursor is at ${name}` });

async function millionRows(scenario) {
  const { shoot } = scenario;
  const page = await open(scenario, 'entity=Item&sort=name', { width: 1920, height: 1000 });
  assert.match(await page.run(() => document.querySelector('.summary').textContent), /^1.000.000 rows of Item/);
  const times = [];
  for (const [share, low, high] of [[0.5, 499_900, 500_100], [0.25, 249_900, 250_100], [1, 999_900, 1_000_000], [0, 1, 40]]) {
    const start = performance.now();
    await scrollTo(page, share);
    await page.until(([from, to]) => [...document.querySelectorAll('.grid-body .row .cell')]
      .some(({ textContent }) => { const number = Number(/^Item (\d{7})$/.exec(textContent)?.[1]); return number >= from && number <= to; }),
    { args: [[low, high]], what: `the rows at ${share} show` });
    times.push(Math.round(performance.now() - start));
    await still(page);
    const { first, inDocument } = await seen(page);
    const number = Number(first.slice(5));
    assert.ok(number >= low && number <= high, `${first} at ${share}`);
    assert.ok(inDocument < 80, `${inDocument} rows are in the document`);
  }
  assert.equal((await seen(page)).first, 'Item 0000001');
  await page.run(() => document.querySelector('.grid').focus());
  await page.key('End', { ctrl: true });
  await current(page, 'Item 1000000');
  assert.equal((await seen(page)).last, 'Item 1000000');
  await shoot(page, 'million-end');
  await page.key('ArrowUp');
  await current(page, 'Item 0999999');
  await page.key('PageUp');
  const size = await page.run(() => globalThis.livefetch.page.grid.pageSize);
  await current(page, `Item ${String(999_999 - size).padStart(7, '0')}`);
  await page.key('Home', { ctrl: true });
  await current(page, 'Item 0000001');
  for (let step = 0; step < 3; step += 1) await page.key('PageDown');
  await current(page, `Item ${String(1 + 3 * size).padStart(7, '0')}`);
  await scrollTo(page, 0.5);
  await still(page);
  await seen(page);
  await page.key('ArrowDown');
  await current(page, `Item ${String(2 + 3 * size).padStart(7, '0')}`);
  await addedAtTheEnd(scenario, page);
  await liveInTheMiddle(page);
  await wheelThroughWindows(page);
  await page.send('HeapProfiler.collectGarbage');
  const heap = await page.run(() => performance.memory.usedJSHeapSize);
  assert.ok(heap < 100e6, `${heap} bytes of memory`);
  await page.close();
  return `jumps to the middle, a quarter, the end and the beginning: ${times.join(', ')} ms`;
}

/** Rows that another program adds behind the last one are reached by the wheel. */
async function addedAtTheEnd({ server }, page) {
  await scrollTo(page, 1);
  await page.until(() => globalThis.livefetch.page.grid.visible.at(-1)?.name === 'Item 1000000');
  await still(page);
  script(server.file, "INSERT INTO Item (id, name) VALUES (1000001, 'Item 1000001'), (1000002, 'Item 1000002'), (1000003, 'Item 1000003')");
  await page.until(() => globalThis.livefetch.page.live.current?.total === 1_000_003);
  await still(page);
  for (let turn = 0; turn < 4; turn += 1) {
    await page.send('Input.dispatchMouseEvent', { type: 'mouseWheel', x: 700, y: 600, deltaX: 0, deltaY: 100 });
    await still(page);
  }
  await page.until(() => globalThis.livefetch.page.grid.visible.at(-1)?.name === 'Item 1000003', { what: 'the last row is seen' });
  script(server.file, 'DELETE FROM Item WHERE id > 1000000');
  await page.until(() => globalThis.livefetch.page.live.current?.total === 1_000_000);
}

/** Saves show in a window far from the table's beginning, and rows before it do not move it. */
async function liveInTheMiddle(page) {
  await scrollTo(page, 0.7);
  await still(page);
  const { first } = await seen(page);
  const id = Number(first.slice(5));
  await page.run((row) => globalThis.livefetch.client.update('Item', row + 3, { price: 77_777_777 }, { optimistic: false }), id);
  await page.until(() => [...document.querySelectorAll('.cell')].some(({ textContent }) => /77.777.777/.test(textContent)),
    { what: 'the save shows' });
  await page.run(() => globalThis.livefetch.client.delete('Item', 5, { optimistic: false }));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 999_999);
  await still(page);
  assert.equal((await seen(page)).first, first, 'what is read stays in its place');
}

/** Scrolls as a wheel does, over the ends of windows: no row is left out and none comes twice. */
async function wheelThroughWindows(page) {
  let last = 0;
  const names = new Set();
  for (let step = 0; step < 60; step += 1) {
    await page.run(() => { globalThis.livefetch.page.grid.element.scrollTop += 600; });
    await still(page);
    await seen(page);
    const shown = await page.run(() => globalThis.livefetch.page.grid.visible.map(({ name }) => Number(name.slice(5))));
    shown.forEach((number, index) => index > 0 && assert.equal(number, shown[index - 1] + 1));
    assert.ok(shown[0] > last, 'it goes on downwards');
    [last] = shown;
    shown.forEach((number) => names.add(number));
  }
  const all = [...names].sort((a, b) => a - b);
  assert.equal(all.length, all.at(-1) - all[0] + 1, 'every row on the way was seen');
  assert.ok(all.length > 1100, `${all.length} rows`);
}

async function millionInSections(scenario) {
  const page = await open(scenario, 'entity=Item&section=kind&sort=name', { width: 390, height: 844, scheme: 'dark', isTouch: true });
  await scrollTo(page, 0.5);
  await still(page);
  assert.match((await seen(page)).first, /^Item 0(499|500)\d{3}$/);
  assert.match(await page.run(() => document.querySelector('.pinned').textContent), /^M\d+\+$/);
  assert.match(await page.run(() => document.querySelector('.summary .range').textContent), /^rows (499|500)/);
  await scenario.shoot(page, 'million-sections');
  await page.run(() => document.querySelector('.grid').focus());
  await page.key('End');
  await current(page, 'Item 1000000');
  await page.key('Home');
  await current(page, 'Item 0000001');
  await page.run(() => globalThis.livefetch.page.change({ section: '', limit: '20000', offset: '30000' }));
  await page.until(isLive);
  await page.run(() => document.querySelector('.grid').focus());
  await page.key('End');
  await current(page, 'Item 0050000');
  assert.match(await page.run(() => document.querySelector('.summary').textContent), /^20.000 rows of Item.*Next window.*Previous/);
  await page.close();
}

export const fileScenarios = {
  'views and tables without a key are shown without being live': { run: notLive, fixture: shapes },
  'a store served read-only is shown without controls that edit':
    { run: readOnly, fixture: shapes, options: ['--read-only'] },
  'an empty database and an empty table say how to fill them': { run: emptyDatabase, fixture: 'PRAGMA user_version = 1' },
  'random edits and the to-do list are offered in the samples alone': { run: noDemonstration, fixture: shapes },
  'every one of a million rows is reached, live': { run: millionRows, fixture: million },
  'a million rows in sections are reached on a phone': { run: millionInSections, fixture: million },
  'a table that is dropped while it is shown leads to the others': { run: droppedTable, fixture: shapes },
};
