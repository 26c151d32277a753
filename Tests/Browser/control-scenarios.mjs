// The page by the keys alone, by the pointer alone, and with entities that inherit.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { explorer, isLive, still } from './pages.mjs';

/** By the keys alone: completion, cells, an edit, a deletion and a new object in one save. */
async function byKeys({ browser, server }) {
  const page = await explorer(browser, server.address);
  await page.key('/');
  await page.until(() => document.activeElement.id === 'where');
  const chosen = async (typed, steps) => {
    await page.type(typed);
    await page.until(() => !document.querySelector('#completions').hidden, { what: `completions of ${typed}` });
    for (let step = 0; step < steps; step += 1) await page.key('ArrowDown');
    await page.key('Tab');
    return page.run(() => document.querySelector('#where').value);
  };
  assert.equal(await chosen('cou', 0), 'country.');
  assert.equal(await chosen('na', 0), 'country.name ');
  assert.equal(await chosen('BEG', 0), 'country.name BEGINSWITH[cd] ');
  await page.type("'xqz'");
  await page.key('Enter');
  await page.until(() => globalThis.livefetch.page.live.current?.count === 0, { what: 'nothing matches' });
  assert.match(await page.run(() => document.querySelector('.empty').textContent), /Nothing matches/);
  await page.click('.empty .button');
  await page.run(() => globalThis.livefetch.page.change({ where: "name == 'Reykjavík' OR name == 'Lima'", section: '', sort: '-population' }));
  await page.until(() => globalThis.livefetch.page.grid.visible.length === 3, { what: 'three cities' });
  await page.run(() => document.querySelector('.grid').focus());
  await page.click('.row .cell');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowRight', 'ArrowRight', 'Enter']) await page.key(key);
  await page.until(() => document.activeElement.closest('.editor'), { what: 'the cell is edited' });
  await page.run(() => document.activeElement.select());
  await page.type('not a number');
  await page.key('Enter');
  await page.until(() => document.querySelector('.editor .complaint'), { what: 'the cell complains' });
  await page.run(() => document.activeElement.select());
  await page.type('333333');
  await page.key('Enter');
  await page.key('ArrowDown');
  await page.key('Delete');
  await page.key('n');
  await page.until(() => document.querySelector('.dialog.insert'));
  await page.type('Poseidonis');
  await page.key('Enter');
  await page.until(() => /^1 edited, 1 new, 1 to delete/.test(document.querySelector('.tray-line').textContent),
    { what: 'three changes are collected' });
  const before = await page.run(() => globalThis.livefetch.page.traffic.count);
  await page.key('s', { ctrl: true });
  await page.until(() => document.querySelector('#tray').hidden && globalThis.livefetch.client.pending.length === 0);
  await page.until((count) => globalThis.livefetch.page.traffic.count > count, { args: [before] });
  assert.equal(await page.run(() => globalThis.livefetch.page.traffic.count), before + 1, 'one save, one diff');
  const { sections: [{ items }] } = await connect(server.address).fetch({ entity: 'City',
    where: "name IN {'Poseidonis', 'Reykjavík', 'Lima'}", sort: 'name', select: 'name,population' });
  assert.deepEqual(items.map(({ name, population }) => [name, population]),
    [['Lima', 7737002], ['Poseidonis', null], ['Reykjavík', 333333]]);
  await page.key('?');
  await page.until(() => document.querySelector('.dialog.help'));
  await page.key('Escape');
  await page.close();
}

/** By the pointer: heads, strip, histogram, model, theme; and back. */
async function byPointer({ browser, server }) {
  const page = await explorer(browser, server.address);
  const top = () => page.run(() => { const { grid } = globalThis.livefetch.page;
    return grid.layout.sections[grid.layout.sectionAt(grid.element.scrollTop + 1)].name; });
  await page.run(() => { [...document.querySelectorAll('.strip span')].find(({ textContent }) => textContent === 'J').dataset.test = 'letter'; });
  await page.click('[data-test="letter"]');
  await page.until(() => globalThis.livefetch.page.grid.element.scrollTop > 0);
  assert.equal((await top())[0], 'J');
  await page.until(() => !document.querySelector('.pinned .section-head').hidden, { what: 'a header is pinned' });
  assert.match(await page.run(() => document.querySelector('.pinned').textContent), /^J/);
  await page.run(() => document.querySelector('.grid').focus());
  const before = await top();
  await page.key(']');
  await still(page);
  assert.notEqual(await top(), before);
  await page.click('.histogram g:nth-child(3)');
  await page.until(() => /BETWEEN/.test(document.querySelector('#where').value), { what: 'a bar narrows' });
  await page.until(isLive);
  const [low, high] = await page.run(() => /\{(\d+), (\d+)\}/.exec(document.querySelector('#where').value).slice(1).map(Number));
  assert.ok(await page.run((from, to) => globalThis.livefetch.page.live.sections.every(({ items }) =>
    items.every(({ population }) => population >= from && population <= to)), low, high));
  await page.run(() => [...document.querySelectorAll('.entity')].find(({ textContent }) => /^Country/.test(textContent)).click());
  await page.until(() => globalThis.livefetch.page.view.entity === 'Country'
    && globalThis.livefetch.page.live.state === 'live');
  await page.run(() => [...document.querySelectorAll('.head-name')].find(({ textContent }) => /^population/.test(textContent)).click());
  await page.until(() => /sort=population/.test(location.search));
  await page.run(() => history.back());
  await page.until(() => !/sort=population/.test(location.search), { what: 'back undoes the order' });
  await page.run(() => history.back());
  await page.until(() => globalThis.livefetch.page.view.entity === 'City', { what: 'back leads back' });
  assert.match(await page.run(() => document.querySelector('#where').value), /BETWEEN/);
  const theme = await page.run(() => document.documentElement.dataset.theme);
  await page.click('#theme');
  assert.notEqual(await page.run(() => document.documentElement.dataset.theme), theme);
  assert.match(await page.run(() => document.querySelector('a[href="/openapi.html"]').textContent), /OpenAPI/);
  await page.close();
}

/** An abstract entity shows what inherits from it, and takes no objects of its own. */
async function inheritance({ browser, server }) {
  const page = await explorer(browser, `${server.address}/?`);
  const actions = () => page.run(() => [...document.querySelectorAll('.summary .action')].map((each) => each.ariaLabel));
  const choose = (name) => page.run((wanted) => [...document.querySelectorAll('.entity')]
    .find((each) => each.dataset.entity === wanted).click(), name);
  assert.deepEqual(await page.run(() => [...document.querySelectorAll('.entity')].map((each) => [each.dataset.entity, each.closest('li').className])),
    [['Human', ''], ['Hero', 'is-sub is-sub-1'], ['Villain', 'is-sub is-sub-1'], ['Team', '']]);
  assert.deepEqual(await page.run(() => globalThis.livefetch.page.live.sections.map(({ name, items }) => [name, items.length])),
    [['Hero', 3], ['Villain', 1]]);
  assert.ok(!(await actions()).includes('New Human'));
  await choose('Hero');
  await page.until(() => globalThis.livefetch.page.live.current?.count === 3);
  assert.ok((await actions()).includes('New Hero'));
  assert.match(await page.run(() => document.querySelector('.row').textContent), /HeroSkill \(name/);
  await page.close();
}

export const controlScenarios = {
  'everything is done by keys': { run: byKeys },
  'everything is done by pointer': { run: byPointer },
  'entities that inherit stand below their parents': { run: inheritance, options: ['heroes'] },
};
