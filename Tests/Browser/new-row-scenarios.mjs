// The dialog for a new row: what it asks for, and what becomes of a row that is refused.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { fillNewRow, isSaved, openPage, stagedValues } from './pages.mjs';

const people = `
  CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, age INTEGER, note TEXT DEFAULT 'd', boss_id INTEGER REFERENCES person(id));
  INSERT INTO person VALUES (1, 'Ann', 40, NULL, NULL);
  CREATE TABLE code (code TEXT PRIMARY KEY, label TEXT);
  INSERT INTO code VALUES ('a', '${'long '.repeat(4000)}');
  CREATE TABLE task (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, urgent BOOLEAN NOT NULL, open BOOLEAN NOT NULL DEFAULT 1, maybe BOOLEAN, due DATE,
    person_id INTEGER NOT NULL REFERENCES person(id));`;

const filled = () => [...document.querySelectorAll('dialog.insert [name]')].map(({ name, value, placeholder }) => [name, value || placeholder]);
const problem = (page, wanted) => page.until((text) => document.querySelector('.tray-problem')?.textContent === text,
  { args: [wanted], what: `the tray says: ${wanted}` });

/** A new row that is refused is opened again from the tray, with what was typed. */
async function refusedInsert({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=person`);
  await page.run(() => globalThis.livefetch.page.editing.insert());
  await fillNewRow(page, { name: 'Ann', age: '5' });
  const field = (name) => `[...document.querySelectorAll('dialog.insert .dialog-field')].find((each) => each.querySelector('[name=${name}]'))`;
  await page.run(`() => ${field('note')}.querySelector('.null-switch').click()`);
  await page.click('dialog.insert .primary');
  await page.key('s', { ctrl: true });
  await problem(page, 'New row Ann: another person has the same name');
  await shoot(page, 'refused-insert');
  await page.click('.tray-problem .what');
  assert.deepEqual(await page.run(filled), [['name', 'Ann'], ['age', '5'], ['note', 'NULL'], ['id', 'assigned']]);
  await page.key('Escape');
  await page.until(() => !document.querySelector('dialog'), { what: 'nothing was typed, so nothing is asked' });
  await page.click('.tray-list .what');
  await fillNewRow(page, { name: 'Bea' });
  await page.click('dialog.insert .primary');
  assert.deepEqual(await page.run(stagedValues), [{ age: 5, name: 'Bea', note: null }]);
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the corrected row is saved' });
  assert.deepEqual((await connect(server.address).object('person', 2)).object, { id: 2, name: 'Bea', age: 5, note: null, boss: null });
  await missingKey(page, server);
  await requiredFields(page, server, shoot);
  await longNames(page, shoot);
  await page.close();
}

/** A key that the database does not make is asked for, by the name that it has. */
async function missingKey(page, server) {
  await page.run(() => globalThis.livefetch.page.goTo('code'));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 1);
  await page.run(() => globalThis.livefetch.page.editing.insert());
  assert.deepEqual(await page.run(filled), [['id', ''], ['label', 'NULL']]);
  await fillNewRow(page, { label: 'second' });
  await page.click('dialog.insert .primary');
  assert.equal(await page.run(() => document.querySelector('dialog.insert > form > .complaint').textContent),
    'code: A key is required: the database makes none.');
  await fillNewRow(page, { id: 'b' });
  await page.click('dialog.insert .primary');
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the row with a key is saved' });
  assert.deepEqual((await connect(server.address).object('code', 'b')).object, { id: 'b', label: 'second' });
}

/** Every field that is missing is named; a boolean is a choice, a date has a picker. */
async function requiredFields(page, server, shoot) {
  await page.run(() => globalThis.livefetch.page.goTo('task'));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 0);
  await page.run(() => globalThis.livefetch.page.editing.insert());
  const choice = (name) => page.run((wanted) => [...document.querySelector(`dialog.insert select[name=${wanted}]`).options].map(({ textContent }) => textContent), name);
  assert.deepEqual([await choice('urgent'), await choice('open'), await choice('maybe')],
    [['choose …', 'yes', 'no'], ['default', 'yes', 'no'], ['yes', 'no', 'NULL']]);
  assert.ok(await page.run(() => document.querySelector('dialog.insert .date-source') !== null));
  await page.click('dialog.insert .primary');
  assert.equal(await page.run(() => document.querySelector('dialog.insert > form > .complaint').textContent),
    'person: Choose a row.\namount: A value is required.\nurgent: Choose yes or no.');
  await shoot(page, 'required-fields');
  await fillNewRow(page, { amount: '3', due: '2024-02-29' });
  await page.run(() => { document.querySelector('dialog.insert select[name=urgent]').value = 2; });
  await page.run(() => document.querySelector('dialog.insert .related-value').click());
  await page.until(() => document.querySelector('dialog.insert .choices li, dialog.insert [role=option]'), { what: 'rows to choose' });
  await page.key('ArrowDown');
  await page.key('Enter');
  await page.click('dialog.insert form > .dialog-actions .primary');
  await page.until(() => globalThis.livefetch.page.editing.staged.count === 1, { what: 'the row is staged' });
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  const { object } = await connect(server.address).object('task', 1);
  assert.deepEqual([object.amount, object.urgent, object.open, object.maybe, object.due], [3, false, true, null, '2024-02-29T00:00:00Z']);
  await page.run(() => globalThis.livefetch.page.goTo('code'));
  await page.until(() => globalThis.livefetch.page.live.current?.total === 2);
}

/** A name and values of 20,000 characters leave "Undo" in reach. */
async function longNames(page, shoot) {
  await page.run(() => {
    const { editing, live } = globalThis.livefetch.page;
    const item = live.sections[0].items.find(({ id }) => id === 'a');
    editing.staged.set('code', item, 'label', `other ${item.label}`);
  });
  await page.run(() => document.querySelector('.tray-line .text-button').click());
  for (const [width, scheme] of [[1440, 'light'], [390, 'dark']]) {
    await page.size(width, 844);
    await page.scheme(scheme);
    await page.until(() => document.getAnimations().length === 0);
    const { right, height } = await page.run(() => ({ right: document.querySelector('.tray-list .undo').getBoundingClientRect().right,
      height: document.querySelector('.tray-list li').getBoundingClientRect().height }));
    assert.ok(right <= width && height < 120, `${right} ${height}`);
    await shoot(page, `long-names-${width}`);
  }
  await page.click('.tray-list .undo');
  assert.equal(await page.run(() => globalThis.livefetch.page.editing.staged.count), 0);
}

export const newRowScenarios = {
  'a new row is asked for what it needs, a refused one is corrected, and long names leave room for the buttons': { run: refusedInsert, fixture: people },
};
