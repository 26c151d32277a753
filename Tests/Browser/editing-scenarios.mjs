// Cells that are opened, and the search for a related row.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { fillNewRow, isLive, isSaved, openCell, openPage, stagedValues, tryCell, typeCell } from './pages.mjs';

/** Every type, with values that are not what the column declares. */
const odd = `
  CREATE TABLE Owner (id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE Odd (id INTEGER PRIMARY KEY, text TEXT, number INTEGER, real REAL, flag BOOLEAN,
    day DATE, data BLOB, note JSON, price DECIMAL(10, 2), owner_id INTEGER REFERENCES Owner(id));
  INSERT INTO Owner VALUES (1, 'Ann'), (2, 'Bob');
  INSERT INTO Odd VALUES
    (1, 'line one' || char(10) || 'line two', 9223372036854775807, 9e999, 1, '2024-02-29', x'00ff', '{"a":1}', 12.34, 1),
    (2, '', -1, -9e999, 0, 1700000000, x'', '[]', 0, 2),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 'a' || char(13) || char(10) || 'b', 'seven', 'one', 'maybe', 'nope', 'text', '{bad', 'x', 99),
    (5, '  spaces  ', 7.5, 7, 7, '2024-01-01T10:00:00Z', 12, '"text"', '1e3', NULL),
    (6, '[1,2]', x'01', x'02', x'03', 2460000.5, NULL, '7', x'04', 1);`;

const stagedCount = () => globalThis.livefetch.page.editing.staged.count;

async function looking({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/?entity=Odd&sort=id`);
  await page.until(isLive);
  await page.until(() => document.querySelectorAll('.row').length === 6);
  const columns = await page.run(() => globalThis.livefetch.page.grid.columns.map(({ name }) => name).filter((name) => name !== 'id'));
  assert.equal(columns.length, 9);
  assert.equal(await tryCell(page, 1, 'id'), false, 'a key does not open');
  for (let row = 1; row <= 6; row += 1) {
    for (const column of columns) {
      await openCell(page, row, column);
      // A search has found its choices before it is left by Enter.
      if (await page.run(() => document.querySelector('.editor [role=combobox]') !== null)) {
        await page.until(() => document.querySelector('.editor .choices:not([hidden])'));
      }
      await page.key('Enter');
      await page.until(() => document.querySelector('.editor') === null, { what: `${row}, ${column} closes` });
      assert.deepEqual(await page.run(stagedValues), [], `row ${row}, column ${column}`);
    }
  }
  await typing(page, shoot);
  await page.close();
}

/** Empty is not NULL, several lines are kept, and a wrong number says so. */
async function typing(page, shoot) {
  await typeCell(page, 1, 'text', 'one\ntwo');
  await page.key('Enter');
  await openCell(page, 5, 'text');
  await page.click('.null-switch');
  await shoot(page, 'null');
  await page.key('Enter');
  await openCell(page, 3, 'text');
  await page.type('x');
  await page.run(() => { document.activeElement.value = ''; });
  await page.key('Enter');
  assert.deepEqual(await page.run(stagedValues), [{ text: 'one\ntwo' }, { text: null }, { text: '' }]);
  await typeCell(page, 1, 'number', '12x');
  await page.key('Enter');
  assert.equal(await page.run(() => document.querySelector('.complaint').textContent), 'A whole number is expected.');
  assert.ok(await page.run(() => {
    const complaint = document.querySelector('.complaint');
    const box = complaint.getBoundingClientRect();
    return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === complaint;
  }), 'the error is in front of the rows below');
  await page.key('Escape');
  assert.equal(await page.run(stagedCount), 3);
}

/** The list is in front of the rows below, also at the lower edge; Enter takes what is marked. */
async function searching({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/?entity=City&sort=-population`);
  await page.until(isLive);
  const ids = await page.run(() => globalThis.livefetch.page.grid.visible.map(({ id }) => id));
  for (const [row, name] of [[ids[1], 'top'], [ids.at(-2), 'bottom']]) {
    await openCell(page, row, 'country');
    await page.until(() => document.querySelector('.editor .choices li'));
    assert.ok(await page.run(inFront), `the ${name} list is in front`);
    await page.type('gha');
    await page.key('Enter');
    await page.until(() => document.querySelector('.editor') === null);
  }
  await shoot(page, 'picked');
  const ghana = await page.run(async () => (await globalThis.livefetch.client.fetch(
    { entity: 'Country', where: "name == 'Ghana'", as: 'ids' })).sections[0].items[0]);
  assert.deepEqual(await page.run(stagedValues), [{ country: ghana }, { country: ghana }]);
  await openCell(page, ids[3], 'country');
  await page.until(() => document.querySelector('.editor .choices li'));
  await page.key('Enter');
  await page.until(() => document.querySelector('.editor') === null);
  assert.equal(await page.run(stagedCount), 2, 'Enter at once changes nothing');
  await openCell(page, ids[3], 'country');
  await page.until(() => document.querySelector('.editor .choices li'));
  await page.key('ArrowDown');
  const marked = await page.run(() => {
    const input = document.activeElement;
    return document.getElementById(input.getAttribute('aria-activedescendant'))?.getAttribute('aria-selected');
  });
  assert.equal(marked, 'true');
  await page.close();
}

/** Staged values and the values that they replace are there after a reload. */
async function staging({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/?entity=Odd&sort=id`);
  await page.until(isLive);
  await page.run(() => document.querySelector('.row .row-remove').click());
  await openCell(page, 2, 'text');
  await page.type('kept');
  await page.key('Enter');
  await page.reload();
  await page.until(isLive);
  await page.until(() => document.querySelector('.tray-line')?.textContent.includes('1 edited'));
  assert.equal(await page.run(stagedCount), 2);
  // Somebody else changes the row that is to be deleted.
  await connect(server.address).update('Odd', 1, { text: 'other' });
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('.conflict'), { what: 'the deletion is a conflict' });
  await shoot(page, 'conflicting-deletion');
  await page.run(() => document.querySelector('.conflict-choice input').click());
  await page.click('.conflict .button.primary');
  await page.until(isSaved);
  const { sections } = await connect(server.address).fetch({ entity: 'Odd', select: 'text', sort: 'id', limit: 2 });
  assert.deepEqual(sections[0].items, [{ id: 1, text: 'other' }, { id: 2, text: 'kept' }]);
  await others(page, server);
  await back(page);
  await page.close();
}

/** Keys are typed where they are texts or have several parts, and left empty where the database makes them. */
async function keys({ browser, server }) {
  const page = await browser.open(`${server.address}/?entity=word`);
  await page.until(isLive);
  const client = connect(server.address);
  for (const [entity, values, item] of [
    ['word', { id: 'apple', meaning: 'fruit' }, { id: 'apple', meaning: 'fruit' }],
    ['thing', { id: '6fa459ea-ee8a-3ca4-894e-db77e160355e' }, { id: '6fa459ea-ee8a-3ca4-894e-db77e160355e', name: null }],
    ['line', { x: '1', y: 'q' }, { id: '1,q', x: 1, y: 'q', length: null }],
    ['plain', { name: 'n' }, { id: 1, name: 'n' }],
  ]) {
    await page.run((wanted) => globalThis.livefetch.page.goTo(wanted), entity);
    await page.until((wanted) => globalThis.livefetch.page.live.state === 'live'
      && globalThis.livefetch.page.view.entity === wanted, { args: [entity] });
    await page.run(() => globalThis.livefetch.page.editing.insert());
    await fillNewRow(page, values);
    await page.click('dialog .button.primary');
    await page.key('s', { ctrl: true });
    await page.until(isSaved, { what: `${entity} is saved` });
    assert.deepEqual((await client.fetch({ entity })).sections[0].items, [item]);
  }
  await page.close();
}

const parts = `
  CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO product VALUES (1, 'pen'), (2, 'ink');
  CREATE TABLE line (number INTEGER, product_id INTEGER REFERENCES product(id), amount INTEGER, PRIMARY KEY (number, product_id));
  INSERT INTO line VALUES (7, 1, 3);
  CREATE TABLE tag (word TEXT, place INTEGER, PRIMARY KEY (word, place));
  INSERT INTO tag VALUES ('x', 1);`;

/** Parts of a composite key are given to a new row, and stay as they are in a row that exists, as the key does. */
async function keyParts({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=line`);
  for (const column of ['id', 'number', 'product']) assert.equal(await tryCell(page, '7,1', column), false, `${column} does not open`);
  await openCell(page, '7,1', 'amount');
  await page.key('Escape');
  await page.run(() => globalThis.livefetch.page.rowPanel.open('line', '7,1'));
  await page.until(() => document.querySelector('.row-panel [data-property=amount] input'));
  const control = (name) => document.querySelector(`.row-panel [data-property=${name}] :is(input, textarea, .related-value)`) !== null;
  for (const [name, isThere] of [['number', false], ['product', false], ['amount', true]]) assert.equal(await page.run(control, name), isThere, name);
  await page.run(() => globalThis.livefetch.page.rowPanel.open('product', 1));
  await page.until(() => document.querySelector('.row-panel .related-list li'));
  assert.equal(await page.run(() => document.querySelectorAll('.row-panel .related-list .icon-button, .row-panel .related-adder').length), 0,
    'rows whose key refers to it are neither added nor removed');
  await shoot(page, 'key-parts');
  await page.run(() => globalThis.livefetch.page.rowPanel.close());
  await page.run(() => globalThis.livefetch.page.editing.insert());
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('dialog.insert [name]')].map(({ name, placeholder }) => [name, placeholder]).sort()),
    [['amount', 'NULL'], ['id', 'from its parts'], ['number', 'from the key']]);
  await page.key('Escape');
  await page.run(() => globalThis.livefetch.page.goTo('tag'));
  await page.until(() => globalThis.livefetch.page.live.current?.sections[0].items[0]?.word === 'x');
  await page.run(() => globalThis.livefetch.page.grid.selection.all(globalThis.livefetch.page.grid.layout));
  await page.until(() => document.querySelector('.selection-bar').textContent.includes('1 selected'));
  assert.equal(await page.run(() => document.querySelector('.selection-bar').textContent.includes('Edit')), false, 'a row that is its key has nothing to edit');
  await page.close();
}

const picked = `
  CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL, placed DATE);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO orders SELECT i, i * 1.5, '2024-01-01' FROM n;
  CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO person SELECT i, 'Smith' FROM n;
  INSERT INTO person VALUES (41, 'Ada');
  CREATE TABLE line (id INTEGER PRIMARY KEY, note TEXT, orders_id INTEGER REFERENCES orders(id), person_id INTEGER REFERENCES person(id));
  INSERT INTO line (id, note) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four');`;

/** Types into a picker that will have `count` choices; what it shows, and what is marked. */
async function pick(page, row, column, text, count = 1) {
  await openCell(page, row, column);
  await page.until(() => document.querySelector('.editor .choices li'));
  await page.until((wanted) => document.querySelectorAll('.editor .choices li').length !== wanted, { args: [count] });
  await page.type(text);
  await page.until((wanted) => document.querySelectorAll('.editor .choices li').length === wanted, { args: [count], what: `the choices of ${text}` });
  const shown = await page.run(() => [...document.querySelectorAll('.editor .choices li')].map(({ textContent, ariaSelected }) => [textContent, ariaSelected]));
  await page.key('Enter');
  await page.until(() => document.querySelector('.editor') === null);
  return shown;
}

async function pickByKey({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/?entity=line&sort=id`);
  await page.until(isLive);
  await page.until(() => document.querySelectorAll('.row').length === 4);
  assert.deepEqual(await pick(page, 1, 'orders', '77'), [['77', 'true']]);
  assert.deepEqual(await pick(page, 2, 'orders', 'zzz'), [['No row has this name or key.', null]]);
  assert.deepEqual(await page.run(stagedValues), [{ orders: 77 }]);
  assert.deepEqual((await pick(page, 3, 'person', 'smith', 9)).slice(0, 2), [['Smith1', 'true'], ['Smith2', 'false']]);
  assert.deepEqual((await pick(page, 4, 'person', 'smith', 9)).at(-1), ['Type a name or a key to find others.', null]);
  assert.deepEqual(await pick(page, 4, 'person', '33'), [['Smith33', 'true']]);
  assert.deepEqual(await pick(page, 3, 'person', 'ada'), [['Ada', 'true']]);
  assert.deepEqual(await page.run(stagedValues), [{ orders: 77 }, { person: 41 }, { person: 33 }]);
  await openCell(page, 1, 'person');
  await page.until(() => document.querySelector('.editor .choices li'));
  await shoot(page, 'picker');
  await page.close();
}

const keyed = `
  CREATE TABLE word (spelling TEXT PRIMARY KEY, meaning TEXT);
  CREATE TABLE thing (uid UUID PRIMARY KEY, name TEXT);
  CREATE TABLE line (x INTEGER, y TEXT, length REAL, PRIMARY KEY (x, y));
  CREATE TABLE plain (id INTEGER PRIMARY KEY, name TEXT);`;

/** One change that is refused does not keep the others. */
async function others(page, server) {
  await openCell(page, 2, 'text');
  await page.type('good');
  await page.key('Enter');
  await page.run(() => {
    const { page: { editing: { staged } } } = globalThis.livefetch;
    staged.set('Odd', { id: 3, number: null }, 'owner', 77);
  });
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('.tray-problem li:last-child .text-button')?.textContent === 'Save the other one');
  await page.click('.tray-problem li:last-child .text-button');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1
    && !globalThis.livefetch.page.editing.saving.isBusy);
  const { sections } = await connect(server.address).fetch({ entity: 'Odd', where: 'id == 2', select: 'text' });
  assert.deepEqual(sections[0].items, [{ id: 2, text: 'good' }]);
  await page.run(() => globalThis.livefetch.page.editing.staged.clear());
}

/** Back undoes an order, a filter, a section and a limit, one at a time. */
async function back(page) {
  const view = () => page.run(() => location.search);
  const views = [await view()];
  for (const patch of [{ sort: '-id' }, { where: 'id > 1' }, { section: 'flag' }, { limit: 2 }]) {
    await page.run((change) => globalThis.livefetch.page.change(change), patch);
    views.push(await view());
  }
  for (const wanted of views.slice(0, -1).reverse()) {
    await page.run(() => history.back());
    await page.until((search) => location.search === search, { args: [wanted] });
  }
  assert.equal(await page.run(() => globalThis.livefetch.page.view.sort), 'id');
}

/** True if a press in the middle of each visible choice meets that choice. */
function inFront() {
  const list = document.querySelector('.editor .choices');
  const frame = list.getBoundingClientRect();
  return [...list.children].every((choice) => {
    const box = choice.getBoundingClientRect();
    const y = box.y + box.height / 2;
    if (y < frame.top || y > frame.bottom) return true;
    return document.elementFromPoint(box.x + 20, y) === choice;
  });
}

export const editingScenarios = {
  'a cell that is opened and left stages nothing': { run: looking, fixture: odd },
  'staged changes outlive a reload and may conflict, and Back undoes a change of the view': { run: staging, fixture: odd },
  'rows are added where the key is a text, a UUID, or composite': { run: keys, fixture: keyed },
  'parts of a composite key stay as they are in a row that exists': { run: keyParts, fixture: parts },
  'a related row is searched for and seen': { run: searching },
  'a related row is found by its key, and nothing is taken where nothing matches': { run: pickByKey, fixture: picked },
};
