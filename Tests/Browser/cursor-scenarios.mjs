// The current cell of the table: where the focus goes, and which presses and keys reach it.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { isSaved, openCell, openPage, stagedValues, still, typeCell } from './pages.mjs';

const items = `
  CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, price REAL);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO item SELECT i, 'one two three ' || i, i, i FROM n;`;

const focused = () => document.activeElement.id || document.activeElement.className;

/** An editor that closes leaves the focus where the user has put it; one that is ended by a key gives it to the table. */
async function focusAfterEdit({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id`);
  await typeCell(page, 1, 'name', 'first');
  await page.key('Enter');
  assert.equal(await page.run(focused), 'grid');
  await typeCell(page, 1, 'amount', '11');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  assert.equal(await page.run(focused), 'grid', 'after a save');
  await typeCell(page, 2, 'name', 'second');
  await page.click('#where');
  assert.equal(await page.run(focused), 'where', 'after a press elsewhere');
  assert.deepEqual(await page.run(stagedValues), [{ name: 'second' }]);
  await typeCell(page, 3, 'amount', 'many');
  await page.click('#where');
  assert.equal(await page.run(() => document.querySelectorAll('.editor').length), 1, 'an invalid value stays open');
  await connect(server.address).delete('item', 3);
  await page.until(() => document.querySelector('.editor') === null, { what: 'the editor of the deleted row closes' });
  assert.equal(await page.run(focused), 'where', 'after the row is deleted');
  await page.close();
}

/** The row panel shows the current row also if the row is fetched after the key. */
async function panelFollows({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id`);
  const shows = (id) => page.until((wanted) => globalThis.livefetch.page.rowPanel.shows('item', wanted), { args: [id], what: `the panel shows ${id}` });
  await still(page);
  await page.click('.row .cell');
  await page.key(' ');
  await shows(1);
  await page.run(() => document.querySelector('.grid').focus());
  await page.key('End');
  await page.until(() => globalThis.livefetch.page.grid.cursor.id === 20000);
  await shows(20000);
  await page.close();
}

async function press(page, selector, button, count = 1) {
  const place = await page.run((wanted) => {
    const box = document.querySelector(wanted).getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.bottom - 8 };
  }, selector);
  for (let clickCount = 1; clickCount <= count; clickCount += 1) {
    for (const type of ['mousePressed', 'mouseReleased']) await page.send('Input.dispatchMouseEvent', { type, ...place, button, clickCount });
  }
}

/** A press that is not on a cell neither opens the current cell nor its menu. */
async function pressesElsewhere({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id&where=id+%3C+4`);
  await openCell(page, 1, 'name');
  await page.click('.editor textarea', { count: 2 });
  const [start, end] = await page.run(() => [document.activeElement.selectionStart, document.activeElement.selectionEnd]);
  assert.ok(end > start && end - start < 'one two three 1'.length, `a word is selected, not ${start} to ${end}`);
  await page.key('Escape');
  for (const selector of ['.head-name', '.head-grip', '.row-check']) {
    await page.click(selector, { count: 2 });
    assert.equal(await page.run(() => document.querySelector('.editor') === null), true, `a double click on ${selector} opens no cell`);
  }
  await press(page, '.grid', 'right');
  assert.equal(await page.run(() => document.querySelector('.cell-menu') === null), true, 'empty space has no menu');
  await press(page, '.row .cell', 'right');
  await page.until(() => document.querySelector('.cell-menu'), { what: 'the menu of the pressed cell' });
  await page.key('Escape');
  await page.run(() => document.querySelector('.grid').dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true })));
  await page.until(() => document.querySelector('.cell-menu'), { what: 'the menu of the current cell by its key' });
  await page.close();
}

/** With Caps Lock the keys are capital letters. */
async function capitals(page, server) {
  await page.run(() => {
    globalThis.copied = [];
    navigator.clipboard.writeText = async (text) => { globalThis.copied.push(text); };
  });
  await page.click('.row .cell');
  await page.key('C', { ctrl: true });
  assert.deepEqual(await page.run(() => globalThis.copied), ['one two three 1']);
  await page.key('A', { ctrl: true });
  assert.equal(await page.run(() => globalThis.livefetch.page.grid.selection.size), 3);
  await page.key('Escape');
  await typeCell(page, 1, 'name', 'capital');
  await page.key('S', { ctrl: true });
  await page.until(() => document.querySelector('.editor') === null);
  await page.until(isSaved);
  assert.equal((await connect(server.address).object('item', 1)).object.name, 'capital');
}

/** The second client's table is moved in, and has no selection. */
async function keysOfTables({ browser, server }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id&where=id+%3C+4`);
  await still(page);
  await capitals(page, server);
  await page.run(() => globalThis.livefetch.page.second.toggle());
  await page.until(() => document.querySelectorAll('.second .row').length === 3);
  await page.click('.second .row .cell');
  const current = () => page.run(() => globalThis.livefetch.page.second.grid.cursor.id);
  const first = await current();
  await page.key('ArrowDown', { shift: true });
  assert.notEqual(await current(), first, 'the key moves');
  for (const [key, modifiers] of [['Delete'], ['c', { ctrl: true }], [' ', { shift: true }], ['Delete'], ['c', { ctrl: true }]]) await page.key(key, modifiers);
  assert.equal(await page.run(() => globalThis.livefetch.page.second.grid.selection.size), 0);
  assert.deepEqual(await page.run(stagedValues), []);
  await page.close();
}

/** Where a sentence is cut by the edges of the table: the pixels beyond each edge. */
const cut = () => {
  const box = document.querySelector('.editor .complaint').getBoundingClientRect();
  const frame = document.querySelector('.grid').getBoundingClientRect();
  return [frame.left - box.left, box.right - frame.right, box.bottom - frame.bottom].map((pixels) => Math.max(0, Math.round(pixels)));
};

/** The sentence about a wrong value is whole at each edge of the table, and in a window that is narrower than it. */
async function wholeSentence({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=item&sort=id`, { width: 1440, height: 800 });
  await still(page);
  const last = await page.run(() => globalThis.livefetch.page.grid.visible.at(-1).id);
  const isWhole = async (place) => {
    await page.key('Enter');
    await page.until(() => document.querySelector('.editor .complaint:not([hidden])'));
    assert.deepEqual(await page.run(cut), [0, 0, 0], place);
    await shoot(page, `wrong-${place}`);
    await page.key('Escape');
  };
  for (const [id, column] of [[2, 'amount'], [2, 'price'], [last, 'price']]) {
    await typeCell(page, id, column, '12,5 and more');
    await isWhole(`${column}-${id}`);
  }
  await page.size(320, 800);
  for (const key of ['Home', 'ArrowDown', 'Enter']) await page.key(key);
  await page.type('12,5');
  await isWhole('narrow');
  await page.close();
}

export const cursorScenarios = {
  'the sentence about a wrong value is whole at the edges of the table': { run: wholeSentence, fixture: items },
  'a cell that closes leaves the focus where the user has put it': { run: focusAfterEdit, fixture: items },
  'the row panel follows to a row that is fetched after the key': { run: panelFollows, fixture: items },
  'a press that is not on a cell opens no cell': { run: pressesElsewhere, fixture: items },
  'keys are the same with Caps Lock, and the second client has no selection': { run: keysOfTables, fixture: items },
};
