// The table as its reader arranges it, several rows at once, files in and out.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { exported, isSaved, openPage, pressAction, stagedValues, still } from './pages.mjs';
import { library } from './row-scenarios.mjs';

const names = () => globalThis.livefetch.page.grid.columns.map(({ name }) => name);
const widthOf = (name) => Math.round(globalThis.livefetch.page.grid.widthOf(name));
const loaded = () => globalThis.livefetch?.page.live?.state === 'live' && document.querySelectorAll('.row').length > 0;

/** Presses at a place, moves in steps, releases. */
async function drag(page, from, to) {
  const mouse = (type, x, y) => page.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: 1, clickCount: 1 });
  await mouse('mousePressed', from.x, from.y);
  for (let step = 1; step <= 4; step += 1) {
    await mouse('mouseMoved', from.x + (to.x - from.x) * step / 4, from.y + (to.y - from.y) * step / 4);
  }
  await mouse('mouseReleased', to.x, to.y);
}

const middle = (selector) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

async function columns({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080 });
  await page.until(loaded);
  const before = await page.run(widthOf, 'summary');
  const grip = await page.run(middle, '[data-column=summary] .head-grip');
  await drag(page, grip, { x: grip.x + 80, y: grip.y });
  assert.equal(await page.run(widthOf, 'summary'), before + 80);
  await drag(page, await page.run(middle, '[data-column=details] .head-name'), await page.run(middle, '[data-column=author] .head-name'));
  assert.deepEqual((await page.run(names)).slice(0, 3), ['title', 'details', 'author']);
  assert.equal(await page.run(() => globalThis.livefetch.page.view.sort), 'id', 'a drag does not sort');
  await page.run(() => document.querySelector('[data-column=cover] .head-menu').click());
  await page.run(() => [...document.querySelectorAll('.popover .menu-item')].find(({ textContent }) => textContent === 'Hide the column').click());
  assert.ok(!(await page.run(names)).includes('cover'));
  await byKeys(page);
  await shoot(page, 'columns');
  await page.go(`${server.address}/?entity=book&sort=id`);
  await page.until(loaded);
  assert.deepEqual((await page.run(names)).slice(0, 2), ['details', 'title'], 'the order is remembered');
  assert.ok(!(await page.run(names)).includes('cover'), 'a hidden column is remembered');
  assert.equal(await page.run(widthOf, 'summary'), before + 80 - 24, 'the width is remembered');
  await page.run(pressAction, 'Columns');
  await page.run(() => [...document.querySelectorAll('.columns-menu button')].at(-1).click());
  assert.deepEqual(await page.run(names), ['title', 'author', 'summary', 'published', 'lent', 'price', 'is_signed', 'cover', 'details', 'id']);
  await page.close();
}

/** Alt and an arrow move a column, with Shift they change its width. */
async function byKeys(page) {
  await page.run(() => document.querySelector('[data-column=details] .head-name').focus());
  await page.key('ArrowLeft', { alt: true });
  assert.deepEqual((await page.run(names)).slice(0, 2), ['details', 'title']);
  assert.equal(await page.run(() => document.activeElement.closest('.head-cell').dataset.column), 'details', 'the focus moves along');
  await page.run(() => document.querySelector('[data-column=summary] .head-name').focus());
  await page.key('ArrowLeft', { alt: true, shift: true });
}

const wide = `CREATE TABLE ledger (id INTEGER PRIMARY KEY, name TEXT, a INTEGER, b INTEGER, c REAL, d REAL, e INTEGER,
    f INTEGER, g INTEGER, h INTEGER, i INTEGER, number_of_rows INTEGER, remark TEXT);
  INSERT INTO ledger VALUES (9007199254740993, 'long', 9223372036854775807, -9223372036854775808, 3.14159265358979, 1e300, 1, 2, 3, 4, 5, 6,
    'a remark that is far too long for the column in which it stands, and goes on and on'), (2, 'short', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 'x');`;

/** Numbers are whole at any width; a text that is cut shows itself under the pointer. */
async function nothingCut({ browser, server, shoot }) {
  for (const [width, isTouch] of [[1440, false], [390, true]]) {
    const page = await openPage(browser, `${server.address}/?entity=ledger&sort=id`, { width, height: 800, isTouch });
    await page.until(loaded);
    await still(page);
    const cut = await page.run(() => [...document.querySelectorAll('.cell.is-number, .cell.is-id')]
      .filter((cell) => cell.scrollWidth > cell.clientWidth).map(({ textContent }) => textContent));
    assert.deepEqual(cut, [], `${width}`);
    const heads = await page.run(() => [...document.querySelectorAll('.head-name')]
      .filter((head) => head.scrollWidth > head.clientWidth).map(({ textContent }) => textContent));
    assert.deepEqual(heads, [], `heads at ${width}`);
    assert.ok(isTouch || await page.run(() => {
      const row = document.querySelector('.row');
      return row.querySelector('.cell.is-id').getBoundingClientRect().right <= row.querySelector('.row-open').getBoundingClientRect().left + 1;
    }), 'the buttons of a row stand beside its key');
    await shoot(page, `numbers-${width}`);
    if (!isTouch) await tooltip(page);
    await page.close();
  }
}

async function tooltip(page) {
  const remark = await page.run(() => {
    const cell = [...document.querySelectorAll('.cell')].find(({ textContent }) => textContent.startsWith('a remark'));
    cell.scrollIntoView({ inline: 'center' });
    cell.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
    return { title: cell.title, text: cell.textContent };
  });
  assert.equal(remark.title, remark.text);
}

async function selection({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book&sort=id`, { width: 1920, height: 1080, scheme: 'dark' });
  await page.until(loaded);
  await page.run(() => {
    const boxes = [...document.querySelectorAll('.row')].sort((a, b) => a.livefetchRow.y - b.livefetchRow.y)
      .map((row) => row.querySelector('.row-check'));
    boxes[0].click();
    boxes[2].dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }));
  });
  assert.equal(await page.run(() => document.querySelector('.selection-bar strong').textContent), '3 selected');
  assert.equal(await page.run(() => document.querySelectorAll('.row[aria-selected=true]').length), 3);
  await copies(page);
  await page.run(() => [...document.querySelectorAll('.selection-bar button')].find(({ textContent }) => textContent === 'Edit …').click());
  await page.click('.batch-editor .primary');
  assert.equal(await page.run(() => document.querySelector('.batch-editor > .complaint').textContent), 'Type a value.');
  assert.deepEqual(await page.run(stagedValues), [], 'nothing typed stages nothing');
  await page.run(() => {
    const select = document.querySelector('.batch-edit select');
    select.value = [...select.options].find(({ textContent }) => textContent === 'price').value;
    select.dispatchEvent(new Event('change'));
  });
  await page.click('.batch-value .null-switch');
  assert.equal(await page.run(() => document.querySelector('.batch-value .null-switch').getAttribute('aria-pressed')), 'true', 'NULL is chosen');
  await page.run(() => document.querySelector('.batch-value input').focus());
  await page.type('5');
  await shoot(page, 'batch-edit-dark');
  await page.click('.batch-editor .primary');
  assert.deepEqual(await page.run(stagedValues), [{ price: 5 }, { price: 5 }, { price: 5 }]);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  const { sections } = await connect(server.address).fetch({ entity: 'book', select: 'price', sort: 'id' });
  assert.deepEqual(sections[0].items.map(({ price }) => price), [5, 5, 5, 7.5]);
  await deletion(page);
  await page.close();
}

async function copies(page) {
  const texts = await page.run(async () => {
    const copied = [];
    navigator.clipboard.writeText = async (text) => { copied.push(text); };
    const press = (name) => [...document.querySelectorAll('.selection-bar button')].find(({ textContent }) => textContent === name).click();
    press('Copy as CSV');
    press('Copy as JSON');
    await new Promise((resolve) => setTimeout(resolve));
    return copied;
  });
  const [head, first] = texts[0].split('\r\n');
  assert.equal(head, 'title,author,summary,published,lent,price,is_signed,cover,details,id');
  assert.ok(first.startsWith('The Dispossessed,1,"An ambiguous utopia.\nTwo worlds, one wall.",1974-05-01T00:00:00Z,2024-02-29T10:00:00Z,12.5,true,'));
  assert.ok(texts[0].includes('\r\nAgua Viva,3,"",,,,,,,3\r\n'), 'NULL is empty, an empty text is quoted');
  assert.equal(JSON.parse(texts[1])[2].summary, '');
}

/** Shift and the arrows select; Del stages all of them. */
async function deletion(page) {
  await page.run(() => {
    globalThis.livefetch.page.grid.selection.clear();
    document.querySelector('.grid').focus();
  });
  await page.key('Home');
  await page.key('ArrowDown', { shift: true });
  await page.key('ArrowDown', { shift: true });
  assert.equal(await page.run(() => globalThis.livefetch.page.grid.selection.size), 3);
  await page.key('Delete');
  assert.equal(await page.run(() => globalThis.livefetch.page.editing.staged.list.filter(({ kind }) => kind === 'delete').length), 3);
  assert.equal(await page.run(() => document.querySelectorAll('.row.is-removed').length), 3);
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
}

/** An export has the whole fetch; a dropped file is previewed and inserted in one save. */
async function files({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=City&sort=-population,id&where=population+%3E+10000`, { width: 1440, height: 900 });
  await page.until(loaded);
  const lines = await exported(page);
  const stopped = await page.run(async () => {
    const press = (name) => [...document.querySelectorAll('.action')].find(({ ariaLabel }) => ariaLabel === name).click();
    const create = URL.createObjectURL;
    let count = 0;
    URL.createObjectURL = (blob) => { count += 1; return create(blob); };
    press('Export');
    document.querySelectorAll('.export-menu button')[1].click();
    press('Export');
    const areDisabled = [...document.querySelectorAll('.export-menu button')].map(({ disabled }) => disabled);
    const { textContent } = document.querySelector('.export-state');
    document.querySelector('.export-state button').click();
    while (document.querySelector('.export-state')) await new Promise((resolve) => setTimeout(resolve, 20));
    return [areDisabled, textContent, count];
  });
  assert.deepEqual(stopped, [[true, true], 'Exporting …Stop', 0]);
  const { total } = await connect(server.address).fetch({ entity: 'City', as: 'count', where: 'population > 10000' });
  assert.ok(total > 5000);
  await page.run(() => globalThis.livefetch.page.grid.selection.all(globalThis.livefetch.page.grid.layout));
  assert.match(await page.run(() => document.querySelector('.selection-bar').textContent), /^5.?000 selectedof [\d,.]+: as many as are loadedEdit/);
  assert.equal(lines.length, total + 1);
  assert.match(lines[1], /^Shanghai,1814991,24874500,/);
  await page.close();
  await imported({ browser, server, shoot });
}

const drop = (name, text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: 'text/csv' }));
  document.querySelector('.result').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }));
};

async function imported({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=Person`, { width: 1440, height: 900 });
  const { count: before, token } = await page.run(() => globalThis.livefetch.page.live.current);
  const columns = await page.run(() => globalThis.livefetch.page.schema.fields('Person').filter(({ type }) => type === 'string').map(({ name }) => name));
  await page.run(drop, 'people.csv', `${columns[0].toUpperCase()};color\nAda;red\n"Grace; Hopper";blue\n`);
  await page.until(() => document.querySelector('.import-preview'));
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.import-preview td')].map(({ textContent }) => textContent)),
    ['Ada', 'red', 'Grace; Hopper', 'blue']);
  await shoot(page, 'import');
  await page.click('.import .primary');
  await page.until((count) => globalThis.livefetch.page.live.current.count === count, { args: [before + 2] });
  await page.until(() => document.querySelector('.import') === null, { what: 'the dialog closes' });
  const { data: { saves } } = await connect(server.address).transport.json({ path: `/v1/changes?since=${token}` });
  assert.equal(saves.length, 1, 'one save');
  await page.close();
}

const cutRows = `
  CREATE TABLE cut (id INTEGER PRIMARY KEY, n INTEGER);
  WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 250) INSERT INTO cut SELECT n, n FROM i;
  CREATE VIEW tens AS SELECT n / 10 AS ten FROM cut;
  CREATE TABLE broad (id INTEGER PRIMARY KEY, ${Array.from({ length: 300 }, (_, index) => `c${index} INTEGER`).join(', ')});
  INSERT INTO broad (id, c0) SELECT n, n FROM cut;`;

/** A server that sends fewer rows at once than the page asks for: an export has all of them, and more columns than can be selected. */
async function cutExport({ browser, server }) {
  for (const [entity, limit, wanted] of [['cut', '', 250], ['cut', '120', 120], ['tens', '', 250], ['broad', '', 250]]) {
    const page = await openPage(browser, `${server.address}/?entity=${entity}&limit=${limit}`);
    const [heading, ...lines] = await exported(page);
    assert.equal(lines.length, wanted, entity);
    if (entity === 'broad') assert.equal(heading.split(',').length, 301);
    if (entity === 'cut') assert.equal(new Set(lines).size, wanted);
    await page.close();
  }
}

const largeRows = `
  CREATE TABLE photo (id INTEGER PRIMARY KEY, data BLOB);
  WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 300) INSERT INTO photo SELECT n, zeroblob(3000) FROM i;`;

/** Rows of which few fit into one answer are shown in smaller windows, to the last one, and exported. */
async function largeAnswers({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=photo&sort=id`);
  await page.until(() => globalThis.livefetch.page.live.current?.total === 300 && document.querySelectorAll('.row').length > 10);
  await page.click('.row .cell');
  await page.key('End');
  await page.until(() => document.querySelector('.row.is-current')?.livefetchRow.item.id === 300, { what: 'the last row' });
  await shoot(page, 'large-answers');
  assert.equal((await exported(page)).length, 301);
  await page.close();
}

async function refusedImport({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book`, { width: 390, height: 844, scheme: 'dark' });
  await page.run(drop, 'books.csv', 'title,price,is_signed,author\nOne,12,yes,1\nTwo,dear,no,2\n');
  await page.until(() => document.querySelector('.import .complaint li'));
  assert.equal(await page.run(() => document.querySelector('.import .complaint').textContent), 'Line 3, price: A number is expected.');
  assert.equal(await page.run(() => document.querySelector('.import .primary').disabled), true);
  await shoot(page, 'import-wrong-dark');
  await page.key('Escape');
  await page.run(drop, 'books.csv', 'title,author\nOne,1\n,2\n');
  await page.until(() => document.querySelector('.import .primary')?.disabled === false);
  await page.click('.import .primary');
  await page.until(() => /^Line 3: /.test(document.querySelector('.import .complaint').textContent));
  assert.equal(await page.run(() => globalThis.livefetch.page.live.current.count), 4, 'nothing was inserted');
  await page.close();
}

/** A file that is damaged is not imported. */
async function damagedImport({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=book`);
  const complaintsOf = async (text) => {
    await page.run(drop, 'books.csv', text);
    await page.until(() => document.querySelector('.import .complaint li'));
    assert.equal(await page.run(() => document.querySelector('.import .primary').disabled), true);
    const lines = await page.run(() => [...document.querySelectorAll('.import .complaint li')].map(({ textContent }) => textContent));
    await page.run(() => document.querySelector('.import').close());
    await page.until(() => !document.querySelector('.import'));
    return lines;
  };
  assert.deepEqual(await complaintsOf('title,price\n"5" pipe,1\n'),
    ['Line 2: “pipe” stands behind a closing quote; within a text in quotes a quote is written twice.']);
  assert.deepEqual(await complaintsOf('title,price\nOne,1\n"Two,2\nThree,3\n'),
    ['Line 3: a quote is opened and never closed.', 'Line 3: 1 field where the first line has 2.']);
  assert.deepEqual(await complaintsOf('title,price\nOne\nTwo,2,3\n'),
    ['Line 2: 1 field where the first line has 2.', 'Line 3: 3 fields where the first line has 2.']);
  assert.deepEqual(await complaintsOf('title,TITLE,price\nOne,Uno,1\n'),
    ['Line 1: title and TITLE are both imported into title: choose “not imported” for one.']);
  await page.run(drop, 'books.csv', 'title\nOne\n');
  await page.until(() => document.querySelector('.import .primary')?.textContent === 'Import 1 row');
  assert.match(await page.run(() => document.querySelector('.import p').textContent), /^1 row\./);
  await shoot(page, 'import-one');
  await page.run(() => document.querySelector('.import').close());
  await page.until(() => !document.querySelector('.import'));
  await page.run(drop, 'notes.csv', 'title,author_id\nOne,2\n');
  await page.until(() => document.querySelector('.import .primary')?.textContent === 'Import 1 row');
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.import th select')].map(({ selectedOptions: [option] }) => option.textContent)),
    ['title', 'author'], "a reference is known by its column's name in the database");
  await page.click('.import .primary');
  await page.until(() => globalThis.livefetch.page.live.sections[0].items.some(({ title, author }) => title === 'One' && author === 2), { what: 'the reference is imported' });
  await page.close();
}

const twice = ['', '_copy'].map((copy) => `
  CREATE TABLE node${copy} (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES node${copy});
  CREATE TABLE half${copy} (id INTEGER PRIMARY KEY, a TEXT, b INTEGER, FOREIGN KEY (a, b) REFERENCES pair);
  CREATE TABLE loose${copy} (id INTEGER PRIMARY KEY, w);`).join('');
const tree = `
  CREATE TABLE pair (a TEXT, b INTEGER, PRIMARY KEY (a, b));${twice}
  INSERT INTO pair VALUES ('x', 1);
  INSERT INTO node VALUES (1, 'leaf', 2), (2, 'branch', 3), (3, 'root', NULL);
  INSERT INTO half VALUES (1, 'x', 1), (2, 'x', NULL), (3, NULL, NULL);
  INSERT INTO loose VALUES (1, 5), (2, '5'), (3, '007'), (4, 1.5), (5, NULL), (6, '');`;

/** What the page exports of a table it imports into another one of the same form. */
async function roundTrip({ browser, server }) {
  const client = connect(server.address);
  const rows = async (entity) => (await client.fetch({ entity, sort: 'id' })).sections[0].items;
  for (const entity of ['node', 'half', 'loose']) {
    const page = await openPage(browser, `${server.address}/?entity=${entity}&sort=id`);
    await page.until(loaded);
    const lines = await exported(page);
    await page.run(() => globalThis.livefetch.page.goTo(`${globalThis.livefetch.page.view.entity}_copy`));
    await page.until((name) => globalThis.livefetch.page.live?.request.entity === name && globalThis.livefetch.page.live.state === 'live', { args: [`${entity}_copy`] });
    await page.run(drop, 'rows.csv', `${lines.join('\r\n')}\r\n`);
    await page.until(() => document.querySelector('.import .primary')?.disabled === false);
    await page.click('.import .primary');
    await page.until(() => document.querySelector('.import') === null || document.querySelector('.import .complaint li'));
    assert.equal(await page.run(() => document.querySelector('.import .complaint')?.textContent), undefined, entity);
    assert.deepEqual(await rows(`${entity}_copy`), await rows(entity));
    await page.close();
  }
}

/** First and last name name a row; another column can be chosen for it. */
async function labels({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=author&sort=id`, { width: 1440, height: 900 });
  await page.until(loaded);
  const related = () => globalThis.livefetch.page.names.nameOf('author', 1);
  await page.run(() => globalThis.livefetch.page.goTo('book'));
  await page.until(() => [...document.querySelectorAll('.row')].some(({ textContent }) => textContent.includes('Ursula Le Guin')));
  await shoot(page, 'labels');
  await page.run(() => globalThis.livefetch.page.goTo('author'));
  await page.until(() => document.querySelector('[data-column=email]') && document.querySelectorAll('.row').length === 3);
  await page.run(() => document.querySelector('[data-column=email] .head-menu').click());
  await page.run(() => [...document.querySelectorAll('.popover .menu-item')]
    .find(({ textContent }) => textContent === 'Name rows by this column').click());
  assert.equal((await page.run(names))[0], 'email');
  await page.run(() => globalThis.livefetch.page.goTo('book'));
  await page.until(() => [...document.querySelectorAll('.row')].some(({ textContent }) => textContent.includes('ursula@example.org')));
  assert.equal(await page.run(related), 'ursula@example.org');
  await page.run(() => globalThis.livefetch.page.schema.chooseLabel('author', null));
  assert.match(await page.run(() => document.querySelector('.summary').textContent), /^4 rows of book/);
  await page.close();
}

export const tableScenarios = {
  'rows are called by first and last name, or as chosen': { run: labels, fixture: library },
  'columns are resized, moved, hidden and remembered': { run: columns, fixture: library },
  'no number is cut, and a cut text has a tooltip': { run: nothingCut, fixture: wide },
  'several rows are edited and copied, and their deletion is staged': { run: selection, fixture: library },
  'a fetch is exported whole, a CSV is imported': { run: files },
  'rows of which few fit into one answer are all reached': { run: largeAnswers, fixture: largeRows, options: ['--max-answer', '400000'] },
  'an export is whole where the server cuts its results': { run: cutExport, fixture: cutRows, options: ['--max-items', '100'] },
  'an export of rows that refer to each other, in part or whole, and of values without a type is imported': { run: roundTrip, fixture: tree },
  'an import says what is wrong in which line': { run: refusedImport, fixture: library },
  'a damaged file is not imported': { run: damagedImport, fixture: library },
};
