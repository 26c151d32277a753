// The page on files that nobody prepared for it: views, tables without a key, read-only stores.

import assert from 'node:assert/strict';
import { script } from './server.mjs';

const shapes = `
  CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT, Year INTEGER);
  CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL, ArtistId INTEGER REFERENCES Artist);
  CREATE TABLE log (line TEXT, at INTEGER);
  CREATE TABLE "Nothing" (id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER);
  CREATE VIEW recent AS SELECT Name, Year FROM Artist WHERE Year > 1990;
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO Artist SELECT i, 'Artist ' || i, 1950 + i FROM n;
  INSERT INTO Album SELECT ArtistId, 'Album ' || ArtistId, ArtistId FROM Artist;
  INSERT INTO log SELECT 'line ' || ArtistId, ArtistId FROM Artist;`;

const connectionText = () => document.querySelector('#connection-text').textContent;
const firstCells = () => [...document.querySelectorAll('.grid-body .row:not(.is-leaving)')]
  .map((row) => ({ y: row.livefetchRow.y, text: row.querySelector('.cell').textContent }))
  .sort((a, b) => a.y - b.y).map(({ text }) => text);
const labels = () => [...document.querySelectorAll('.summary button')].map((each) => each.ariaLabel ?? each.textContent);
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
  assert.deepEqual(await page.run(labels), ['Refresh']);
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
  await log.until(() => globalThis.livefetch.page.live.state === 'live', { what: 'a table with a key is live' });
  assert.ok((await log.run(labels)).includes('New Artist'));
  await log.run(() => globalThis.livefetch.page.change({ where: "now() > CAST(0, 'NSDate')" }));
  await log.until(() => globalThis.livefetch.page.live.state === 'plain', { what: 'now() is fetched once' });
  assert.equal(await log.run(connectionText),
    'not live: now() changes without a save, so the fetch cannot be followed');
  assert.deepEqual([...page.problems, ...log.problems], []);
  await log.close();
}

async function readOnly(scenario) {
  for (const [width, scheme] of [[1920, 'light'], [390, 'dark']]) {
    const page = await open(scenario, 'entity=Album&sort=Title', { width, scheme, height: 900 });
    await showsPlainRows(page, 'the database is served read-only');
    assert.match(await page.run(() => document.querySelector('.row').textContent), /Artist 1/);
    assert.ok(await page.run(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the page');
    await scenario.shoot(page, `read-only-${width}`);
    assert.deepEqual(page.problems, []);
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
  await page.until(() => globalThis.livefetch.page.live?.state === 'live', { what: 'the new table is shown' });
  assert.match(await page.run(noteText), /^note has no rows yet/);
  assert.deepEqual(await page.run(entities), ['note']);
  await shoot(page, 'no-rows');
  const line = await page.run(() => document.querySelector('.empty .code').textContent);
  const [, address, values] = /^curl \\\s+(\S+) \\\s+--json '(.*)'\s*$/.exec(line);
  const { status } = await fetch(address, { method: 'POST', body: values,
    headers: { 'Content-Type': 'application/json' } });
  assert.equal(status, 201, 'the line shown inserts a row');
  await page.until(() => !document.querySelector('.empty') && document.querySelectorAll('.row').length === 1);
  assert.deepEqual(page.problems, []);
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
  await page.until(() => [...document.querySelectorAll('.head-cell')].some(({ textContent }) => textContent === 'Genre'),
    { what: 'the new column is shown' });
  await page.until(() => globalThis.livefetch.page.live?.state === 'live');
  await page.run(() => history.back());
  await page.until(() => /^There is no table Nothing/.test(document.querySelector('.empty')?.textContent));
  assert.deepEqual(page.problems, []);
  await page.close();
}

// MARK: The demonstration

/** Random edits and the to-do list belong to the samples: nobody offers to damage a file of one's own. */
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
  assert.deepEqual(await sample.run(offers), { edits: true, todo: true });
  assert.deepEqual([...own.problems, ...sample.problems], []);
  await sample.close();
}

export const fileScenarios = {
  'views and tables without a key are shown without being live': { run: notLive, fixture: shapes },
  'a store served read-only is shown without controls that edit':
    { run: readOnly, fixture: shapes, options: ['--read-only'] },
  'an empty database and an empty table say how to fill them': { run: emptyDatabase, fixture: 'PRAGMA user_version = 1' },
  'random edits and the to-do list are offered in the samples alone': { run: noDemonstration, fixture: shapes },
  'a table that is dropped while it is shown leads to the others': { run: droppedTable, fixture: shapes },
};
