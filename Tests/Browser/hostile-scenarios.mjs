// The table and its tools on files with odd names, many columns, views, composite keys, and values of other types than
// their column's.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { isSaved, openCell, openPage, stagedValues, still, typeCell } from './pages.mjs';

const fortyColumns = Array.from({ length: 40 }, (_, index) => `c${index} ${['TEXT', 'INTEGER', 'REAL', 'DATE', 'BLOB', 'JSON', 'BOOLEAN', 'DECIMAL(8, 2)'][index % 8]}`);

const hostile = `
  CREATE TABLE "odd names" (id INTEGER PRIMARY KEY, "in" TEXT, "first name" TEXT, "a.b" TEXT, "é" INTEGER, "any" INTEGER, "a-b" DATE, "9x" REAL);
  INSERT INTO "odd names" VALUES (1, 'x', 'Ann', 'p', 1, 2, '2024-01-01', 1.5), (2, 'y', 'Bob', NULL, 3, NULL, '2024-03-01', 2.5), (3, 'y', '', 'q', 3, 5, '2025-01-01', NULL);
  CREATE TABLE refers (id INTEGER PRIMARY KEY, note TEXT, odd_id INTEGER REFERENCES "odd names"(id));
  INSERT INTO refers VALUES (1, 'n', 2);
  CREATE TABLE visit (id INTEGER PRIMARY KEY, "short text" TEXT, picture BLOB, "the.host of" INTEGER REFERENCES "odd names"(id));
  INSERT INTO visit VALUES (1, 'first', zeroblob(100), 2), (2, 'second', zeroblob(100), 2), (3, 'third', NULL, 1);
  CREATE TABLE wide (id INTEGER PRIMARY KEY, ${fortyColumns.join(', ')});
  INSERT INTO wide (id, c0, c1, c2, c3, c4, c5, c6, c7) VALUES (1, 'text', 1, 1.5, '2024-01-01', x'00ff', '{"a":1}', 1, 12.5),
    (2, 'maybe', 'seven', 'one', 'nope', 'text', '{bad', 'maybe', 'x'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  CREATE TABLE pair (a TEXT, b INTEGER, note TEXT, PRIMARY KEY (a, b));
  INSERT INTO pair VALUES ('x,y', 1, 'one'), ('%', 2, 'two'), ('''quote''', 3, 'three');
  CREATE VIEW seen AS SELECT "first name" AS name, "é" AS n FROM "odd names";`;

/** True in the page if it shows `count` rows of the newest result. */
export const hasRows = (count) => document.querySelectorAll('.row:not(.is-leaving)').length === count
  && !document.querySelector('.grid').classList.contains('is-stale');

/** Opens the menus of the first `columns` columns, the row panel of every row, the groups and the predicate builder. */
export async function useEveryTool(page, entity, count, { columns = 50 } = {}) {
  await page.until(hasRows, { args: [count], what: `${count} rows of ${entity}` });
  const names = await page.run(() => globalThis.livefetch.page.grid.columns.map(({ name }) => name));
  for (const name of names.slice(0, columns)) {
    await page.run((column) => document.querySelector(`.head-cell[data-column="${CSS.escape(column)}"] .head-menu`).click(), name);
    await page.until(() => !document.querySelector('.facets') || !/Counting/.test(document.querySelector('.facet-values').textContent),
      { what: `${entity}.${name} is counted` });
    assert.equal(await page.run(() => document.querySelector('.facets .complaint')?.textContent ?? null), null, `${entity}.${name}`);
  }
  for (let row = 0; row < count; row += 1) {
    const id = await page.run((index) => globalThis.livefetch.page.live.sections[0].items[index].id, row);
    await page.run((key, table) => globalThis.livefetch.page.rowPanel.open(table, key), id, entity);
    await page.until(() => document.querySelectorAll('.row-panel .row-field').length > 1, { what: `${entity} ${id} in full` });
  }
  await page.run(() => globalThis.livefetch.page.rowPanel.close());
  await page.run(() => globalThis.livefetch.page.groups.toggle());
  await page.until(() => document.querySelector('.group-bars li, .group-body .quiet'), { what: `groups of ${entity}` });
  await page.run(() => document.querySelector('.group-label').click());
  await page.until(() => !document.querySelector('.groups:not([hidden])') && document.querySelectorAll('.row').length > 0);
  await page.run(() => document.querySelector('.control-button').click());
  await page.until(() => document.querySelector('.conditions select'));
  await page.key('Escape');
}

async function oddNames({ browser, server, shoot }) {
  for (const [entity, count] of [['odd names', 3], ['wide', 3], ['pair', 3], ['seen', 3]]) {
    const page = await openPage(browser, `${server.address}/?entity=${encodeURIComponent(entity)}`, { width: 1920, height: 1080 });
    await useEveryTool(page, entity, count);
    await page.run(() => globalThis.livefetch.page.change({ where: 'y' }));
    await page.until(() => !document.querySelector('.grid').classList.contains('is-stale'));
    assert.equal(await page.run(() => document.querySelector('.predicate-error').hidden), true, `${entity} is searched`);
    await shoot(page, `hostile-${entity}`);
    if (entity === 'odd names') await columnWithOddName(page);
    if (entity === 'wide') assert.equal(await page.run(headerLineExcess), 0, 'the line below the column headers ends with the last one');
    await page.close();
  }
}

/** Scrolls the table to its right end. Returns how many pixels the line below the column headers exceeds the last one. */
function headerLineExcess() {
  const head = document.querySelector('.grid-head');
  document.querySelector('.grid').scrollLeft = 1e6;
  const [last] = [...head.children].map((cell) => cell.getBoundingClientRect().right).sort((a, b) => b - a);
  return Math.round(head.getBoundingClientRect().right - parseFloat(getComputedStyle(head).paddingRight) - last);
}

/** Filters by a column whose name is not an identifier: by search words, the click on a cell, the builder and the column's menu. */
async function columnWithOddName(page) {
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.until(() => document.querySelectorAll('.row').length === 3);
  await page.run(() => globalThis.livefetch.page.change({ where: 'ann p' }));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 1, { what: 'words are found in columns with odd names' });
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.until(() => document.querySelectorAll('.row:not(.is-leaving)').length === 3);
  await still(page);
  await page.run(() => { [...document.querySelectorAll('.grid-body .cell')].find(({ textContent }) => textContent === 'Bob').dataset.test = 'cell'; });
  await page.click('[data-test=cell]');
  await page.run(() => document.querySelector('[data-test=cell]').dispatchEvent(
    new MouseEvent('contextmenu', { bubbles: true, cancelable: true, button: 2, clientX: 300, clientY: 300 })));
  await page.until(() => document.querySelector('.cell-menu'));
  assert.equal(await page.run(() => document.querySelector('.menu-note')), null);
  await page.key('Escape');
  const where = (text) => page.until((wanted) => globalThis.livefetch.page.view.where === wanted
    && globalThis.livefetch.page.live.current?.total === 1, { args: [text], what: `filtered by ${text}` });
  await page.run(() => document.querySelector('[data-test=cell]').dispatchEvent(new MouseEvent('click', { bubbles: true, altKey: true })));
  await where(`#"first name" == 'Bob'`);
  await page.run(() => document.querySelector('.control-button').click());
  await page.until(() => document.querySelector('.conditions select')?.selectedOptions[0].textContent === 'first name', { what: 'the builder shows it' });
  await page.key('Escape');
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await page.until(() => document.querySelectorAll('.row:not(.is-leaving)').length === 3);
  await page.run(() => document.querySelector('.head-cell[data-column="a.b"] .head-menu').click());
  await page.until(() => document.querySelectorAll('.facet').length === 3);
  await page.run(() => [...document.querySelectorAll('.facet')].find(({ textContent }) => textContent.startsWith('p')).click());
  await where(`#"a.b" == 'p'`);
  await page.key('Escape');
}

/** Searches related rows by a column with an odd name, and lists the rows that refer to a row by such a column. */
async function relatedByOddName({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=refers&sort=id`);
  const found = await page.run(() => globalThis.livefetch.page.names.search('odd names', 'bo'));
  assert.deepEqual(found, [{ id: 2, name: 'Bob' }]);
  // The panel lists them without their pictures, and a button shows them in their table.
  await page.run(() => globalThis.livefetch.page.rowPanel.open('odd names', 2));
  const list = () => [...document.querySelectorAll('.row-panel li .text-button')].map(({ textContent }) => textContent).filter((text) => /first|second|third/.test(text));
  await page.until(() => document.querySelectorAll('.row-panel li .text-button').length >= 3, { what: 'the related rows' });
  assert.deepEqual(await page.run(list), ['first (1)', 'second (2)']);
  await page.run(() => [...document.querySelectorAll('.row-panel .text-button')].filter(({ textContent }) => textContent === 'Show in the table').at(-1).click());
  await page.until(() => globalThis.livefetch.page.view.entity === 'visit' && globalThis.livefetch.page.live.current?.total === 2, { what: 'the two rows in their table' });
  await page.close();
}

const inheritedNames = ['constructor', 'toString', '__proto__', 'valueOf', 'hasOwnProperty'];
const inherited = `
  CREATE TABLE "constructor" (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO "constructor" VALUES (7, 'seven');
  CREATE TABLE blank (id INTEGER PRIMARY KEY, label TEXT, "toString" TEXT);
  CREATE TABLE things (id INTEGER PRIMARY KEY, ${inheritedNames.map((name) => `"${name}" TEXT`).join(', ')},
    made_by INTEGER REFERENCES "constructor"(id));
  INSERT INTO things VALUES (1, ${inheritedNames.map((name) => `'${name} of 1'`).join(', ')}, 7), (2, NULL, NULL, NULL, NULL, NULL, NULL);`;

/** The first row of an empty table has only the values that it was given until it is saved: the menu of another cell shows NULL. */
async function unsavedRow(page) {
  await page.run(() => globalThis.livefetch.page.goTo('blank'));
  await page.until(() => globalThis.livefetch.page.live.current?.count === 0);
  await page.run(() => {
    const send = globalThis.fetch;
    globalThis.fetch = (url, init) => (String(url).endsWith('/v1/save') ? new Promise(() => {}) : send(url, init));
    globalThis.livefetch.client.insert('blank', { label: 'x' });
  });
  await page.until(() => globalThis.livefetch.page.grid.visible[0]?.label === 'x');
  const menu = await page.run(() => {
    const { finding, grid } = globalThis.livefetch.page;
    const column = grid.columns.find(({ name }) => name === 'toString');
    finding.handlers.onCell({ x: 100, y: 100 }, column, grid.visible[0]);
    return document.querySelector('.cell-menu').textContent;
  });
  assert.match(menu, /^Only toString = NULL/);
}

/** Shows and edits columns whose names are properties of every JavaScript object. */
async function inheritedColumns({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=things&sort=id`, { width: 1920, height: 1080 });
  await page.until(hasRows, { args: [2] });
  assert.match(await page.run(() => document.querySelector('.grid').style.getPropertyValue('--columns')), /^(?!.*NaN)./);
  const cells = () => Object.fromEntries([...document.querySelectorAll('.row')].find(({ livefetchRow: { item } }) => item.id === 1)
    .querySelectorAll('.cell').entries().map(([index, cell]) => [globalThis.livefetch.page.grid.columns[index].name, cell.textContent]));
  const names = ['hasOwnProperty', 'valueOf', 'toString', 'constructor', '__proto__'];
  assert.deepEqual(Object.entries(await page.run(cells)).filter(([name]) => name !== '__proto__').sort(), Object.entries({ id: '1', made_by: 'seven',
    ...Object.fromEntries(names.slice(0, 4).map((name) => [name, `${name} of 1`])) }).sort());
  await page.run(() => globalThis.livefetch.page.rowPanel.open('things', 1));
  await page.until(() => document.querySelectorAll('.row-panel .row-field textarea').length === 5);
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.row-panel .row-field.is-staged')].length), 0);
  for (const name of names) {
    assert.equal(await page.run((wanted) => document.querySelector(`.row-panel [data-property="${wanted}"] textarea`).value, name), `${name} of 1`);
    await page.run((wanted) => { const area = document.querySelector(`.row-panel [data-property="${wanted}"] textarea`); area.focus(); area.select(); }, name);
    await page.type(`new ${name}`);
    await page.run(() => document.activeElement.blur());
  }
  await shoot(page, 'inherited-names');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  const stored = await connect(server.address).transport.json({ path: '/v1/objects/things/1' });
  assert.deepEqual(Object.entries(stored.data).filter(([name]) => names.includes(name)).sort(),
    names.map((name) => [name, `new ${name}`]).sort());
  await page.run(() => globalThis.livefetch.page.rowPanel.open('constructor', 7));
  await page.until(() => document.querySelector('.row-panel summary'));
  await page.run(() => document.querySelector('.row-panel details').setAttribute('open', ''));
  await page.until(() => /No change of this row/.test(document.querySelector('.row-history').textContent), { what: 'the history of a row of `constructor`' });
  await page.run(() => globalThis.livefetch.page.rowPanel.close());
  await page.run(() => globalThis.livefetch.page.editing.insert());
  for (const name of names) {
    await page.run((wanted) => { document.querySelector(`dialog [name="${wanted}"]`).focus(); }, name);
    await page.type(`made ${name}`);
  }
  await page.click('dialog .button.primary');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  const made = await connect(server.address).transport.json({ path: '/v1/objects/things/3' });
  assert.deepEqual(Object.entries(made.data).filter(([name]) => names.includes(name)).sort(),
    names.map((name) => [name, `made ${name}`]).sort());
  await unsavedRow(page);
  await page.close();
}

const quoted = `it's "quoted" 🎉`;
const odd = `
  CREATE TABLE "it's ""quoted"" 🎉" (id INTEGER PRIMARY KEY, "say ""hi""" TEXT, "it's" TEXT, "🎉" INTEGER, "" TEXT, "a,b" TEXT, "a\\b" TEXT, "<b>x</b>" TEXT);
  INSERT INTO "it's ""quoted"" 🎉" VALUES (1, 'one "x"', 'o''clock', 5, 'none', 'c', 'd', '<img src=x onerror=alert(1)>'), (2, NULL, '🎉', 7, '', NULL, NULL, NULL);
  CREATE TABLE broad (id INTEGER PRIMARY KEY, ${Array.from({ length: 200 }, (_, index) => `"column ${index}" ${['TEXT', 'INTEGER', 'BLOB'][index % 3]}`).join(', ')});
  INSERT INTO broad (id, "column 0", "column 199") VALUES (1, 'first', 'last'), (2, NULL, NULL);
  CREATE TABLE code (code TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
  INSERT INTO code VALUES ('de', 'Germany'), ('a b?#%/x', 'odd key'), ('', 'empty key'), ('🎉', 'emoji key'), ('..', 'dots');
  CREATE TABLE part (a INTEGER, b BLOB, v TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
  INSERT INTO part VALUES (1, x'00ff', 'binary key'), (2, 'text', 'text key');
  CREATE TABLE data (id INTEGER PRIMARY KEY, data BLOB);
  INSERT INTO data VALUES (1, x''), (2, NULL), (3, zeroblob(2000000)), (4, 'text in a blob');
  CREATE TABLE made (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER GENERATED ALWAYS AS (a * 2) STORED, c AS (a * 3));
  INSERT INTO made (a) VALUES (1), (2);
  CREATE TABLE keyless (at TEXT, what TEXT);
  INSERT INTO keyless VALUES ('now', 'x'), ('now', 'x');
  CREATE TABLE vacant (id INTEGER PRIMARY KEY, x TEXT);
  CREATE TABLE entity (id INTEGER PRIMARY KEY, entity TEXT, count INTEGER, total INTEGER, section TEXT);
  INSERT INTO entity VALUES (1, 'e', 1, 2, 's'), (2, 'made', 3, 4, 't');`;

/** Uses every tool on each table of an odd file, and edits a row of those that have a key. */
async function oddFile({ browser, server, shoot }) {
  for (const [entity, count, id, column, options] of [[quoted, 2, 1, 'say "hi"'], ['broad', 2, 1, 'column 0', { columns: 4 }],
    ['code', 5, '', 'name'], ['code', 5, 'a b?#%/x', 'name'], ['code', 5, '..', 'name'], ['part', 2, '1,00FF', 'v'], ['data', 4],
    ['made', 2, 2, 'a'], ['entity', 2, 2, 'section'], ['keyless', 2], ['vacant', 0]]) {
    const page = await openPage(browser, `${server.address}/?entity=${encodeURIComponent(entity)}`, { width: 1920, height: 1080, scheme: 'dark' });
    assert.equal(await page.run(() => document.querySelector('[aria-label=Section]').selectedOptions[0].textContent), 'none');
    if (count > 0) await useEveryTool(page, entity, count, options);
    if (column) await editInPanel(page, server, { entity, id, column });
    await shoot(page, `odd-${entity.replace(/\W+/g, '-')}`);
    await page.close();
  }
}

/** Types another value in the row panel and saves it. */
export async function editInPanel(page, server, { entity, id, column }) {
  const value = column === 'a' ? 77 : `new of ${id}`;
  await page.run((name, key) => globalThis.livefetch.page.rowPanel.open(name, key), entity, id);
  const field = `.row-panel [data-property="${column.replaceAll('"', '\\"')}"] :is(textarea, input)`;
  await page.until((selector) => document.querySelector(selector) !== null, { args: [field], what: `${entity} ${id} is in the panel` });
  await page.run((selector) => { const control = document.querySelector(selector); control.focus(); control.select(); }, field);
  await page.type(String(value));
  await page.run(() => document.activeElement.blur());
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: `${entity} ${id} is saved` });
  const { object } = await connect(server.address).object(entity, id);
  assert.equal(object[column], value);
}

const misplacedValues = `
  CREATE TABLE types (id INTEGER PRIMARY KEY, i INTEGER, n NUMERIC, d DOUBLE, b BOOLEAN, day DATE, u UUID, j JSON, anyc);
  INSERT INTO types VALUES (1, 1, 1.5, 1.5, 1, '2024-01-01', '6fa459ea-ee8a-3ca4-894e-db77e160355e', '{"a":1.0}', 'text'),
    (2, 'seven', 'abc', 'one', 'maybe', '2024-13-45', 'none', '{"a":1.50,"b":1e2}', 5), (3, 'eight', 'abc', 'one', 'maybe', '12:34', 'none', '{bad', 6);
  CREATE TABLE keyword_search_terms_of_all_visits (id INTEGER PRIMARY KEY, term TEXT NOT NULL, visits INTEGER DEFAULT 5);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO keyword_search_terms_of_all_visits (term) SELECT 'term' || i FROM n;`;

/** Replaces values that are not of their column's type, and deletes a row that has such values. */
async function repair({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=types&sort=id`, { width: 1920, height: 1080 });
  await page.until(hasRows, { args: [3] });
  const given = { i: '7', n: '2.5', d: '3.5', day: '2024-02-01T00:00:00Z', u: '16fd2706-8baf-433b-82eb-8c7fada847da', j: '{"a": 2}', anyc: 'six' };
  for (const [column, text] of Object.entries(given)) {
    await typeCell(page, 2, column, text);
    // The value was a number, in a column without a type.
    if (column === 'anyc') await page.key('t', { alt: true });
    await page.key('Enter');
    await page.until(() => document.querySelector('.editor') === null, { what: `${column} is a value` });
  }
  await openCell(page, 2, 'b');
  await page.run(() => { document.activeElement.selectedIndex = 0; });
  await page.key('Enter');
  await page.run(() => globalThis.livefetch.page.editing.remove('types', globalThis.livefetch.page.live.sections[0].items[2]));
  await shoot(page, 'repaired');
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the row is repaired' });
  const { sections } = await connect(server.address).fetch({ entity: 'types' });
  assert.deepEqual(sections[0].items.slice(1), [{ id: 2, i: 7, n: 2.5, d: 3.5, b: true, day: given.day, u: given.u, j: { a: 2 }, anyc: 'six' }]);
  await editsDeletedRow(page, server, shoot);
  await longTableName(page, server, shoot);
  await page.close();
}

/** Edits a row that another client deletes: the save is refused, the text stays in sight, and the row can be inserted again. */
async function editsDeletedRow(page, server, shoot) {
  await typeCell(page, 1, 'anyc', 'typed before the deletion');
  await page.key('Enter');
  await connect(server.address).delete('types', 1);
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('.tray-problem'), { what: 'the save is refused' });
  assert.match(await page.run(() => document.querySelector('.tray-problem').textContent), /^.+: there is no such types/);
  assert.match(await page.run(() => document.querySelector('.tray-list').textContent), /typed before the deletion/);
  await page.run(() => getSelection().selectAllChildren(document.querySelector('.tray-list .values')));
  assert.match(await page.run(() => getSelection().toString()), /typed before the deletion/, 'the text can be copied');
  await page.run(() => getSelection().removeAllRanges());
  await page.run(() => {
    const { editing, live } = globalThis.livefetch.page;
    editing.remove('types', live.sections[0].items.find(({ id }) => id === 2));
  });
  await connect(server.address).delete('types', 2);
  await page.key('s', { ctrl: true });
  await page.until(() => /^1 edited(?!,)/.test(document.querySelector('.tray-line')?.textContent) && !globalThis.livefetch.page.editing.saving.isBusy,
    { what: 'the deletion of a row that is already deleted is done' });
  await page.click('.insert-again');
  await page.until(() => document.querySelector('.tray-line').textContent.startsWith('1 new'));
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the row is there again' });
  const { object } = await connect(server.address).object('types', 1);
  assert.deepEqual([object.i, object.n, object.day, object.anyc], [1, 1.5, '2024-01-01T00:00:00Z', 'typed before the deletion']);
  await typesInvalidValueIntoDeletedRow(page, server, shoot);
}

/** Types a text that is not a number into a row that another client deletes: a note shows the text. */
async function typesInvalidValueIntoDeletedRow(page, server, shoot) {
  await typeCell(page, 1, 'i', '12x');
  await connect(server.address).delete('types', 1);
  await page.until(() => document.querySelector('.tray-notes'), { what: 'the note shows the text after its cell is gone' });
  assert.match(await page.run(() => document.querySelector('.tray-notes').textContent), /^Not staged: “12x” in i of types 1 is no value of this column\./);
  await shoot(page, 'typed-into-a-deleted-row');
  await page.click('.tray-notes .text-button');
  assert.equal(await page.run(() => document.querySelector('.tray').hidden), true);
}

/** The model list shows the number of rows beside a long table name. */
async function longTableName(page, server, shoot) {
  const entity = 'keyword_search_terms_of_all_visits';
  await page.run((name) => globalThis.livefetch.page.goTo(name), entity);
  await page.until(() => globalThis.livefetch.page.live.current?.total === 2000);
  assert.deepEqual(await page.run((name) => {
    const panel = document.querySelector('#model').getBoundingClientRect();
    const count = document.querySelector(`.entity[data-entity=${name}] .count`);
    return [count.textContent.replace(/\D/g, ''), count.getBoundingClientRect().right < panel.right];
  }, entity), ['2000', true]);
  await placeholdersOfNewRow(page);
  await shoot(page, 'long-name');
  await tableChangeWhileOffline(page, server, entity);
}

/** The dialog of a new row shows what the database stores for an empty field. */
async function placeholdersOfNewRow(page) {
  await page.run(() => globalThis.livefetch.page.editing.insert());
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('dialog.insert [name]')].map(({ name, placeholder }) => [name, placeholder]).sort()),
    [['id', 'assigned'], ['term', ''], ['visits', 'default']]);
  await page.run(() => { document.querySelector('dialog.insert [name=term]').value = 'a term'; });
  await page.run(() => [...document.querySelectorAll('dialog.insert .dialog-field')].find((field) => field.querySelector('[name=visits]')).querySelector('.null-switch').click());
  await page.click('dialog.insert .primary');
  assert.deepEqual(await page.run(stagedValues), [{ term: 'a term', visits: null }]);
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
}

/** Without the server, a change of the table leaves nothing of the former table on the page. */
async function tableChangeWhileOffline(page, server, entity) {
  await server.kill();
  await page.until(() => globalThis.livefetch.page.live.state === 'offline');
  await page.run(() => globalThis.livefetch.page.goTo('types'));
  assert.equal(await page.run(() => document.querySelector('.summary').textContent), 'Loading types …');
  assert.ok(!(await page.run(() => document.querySelector('#inspector').innerText)).includes(entity));
}

export const hostileScenarios = {
  'a value that its column cannot hold is repaired, and its row deleted': { run: repair, fixture: misplacedValues },
  'odd tables are shown and edited: quotes, emoji, 200 columns, WITHOUT ROWID, blobs, generated columns': { run: oddFile, fixture: odd },
  'columns called `constructor` or `__proto__` are shown and edited like others': { run: inheritedColumns, fixture: inherited },
  'odd names, forty columns, composite keys and views have the same tools': { run: oddNames, fixture: hostile },
  'related rows are searched for by a column with an odd name': { run: relatedByOddName, fixture: hostile },
};
