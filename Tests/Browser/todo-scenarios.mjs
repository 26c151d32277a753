// The to-do page.

import assert from 'node:assert/strict';
import { openPage } from './pages.mjs';
import { script } from './server.mjs';

async function todo({ browser, server, shoot }) {
  const page = await browser.open(`${server.address}/todo.html`);
  await page.until(() => document.querySelectorAll('#list li').length > 0);
  assert.match(await page.run(() => document.querySelector('#note').textContent), /no to-do entity/);
  await page.close();
  await server.kill('SIGTERM');
  server.file = `${server.file}.todo`;
  server.isSample = false;
  script(server.file, 'CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL DEFAULT 0)');
  await server.begin();
  const pages = [await browser.open(`${server.address}/todo.html`), await browser.open(`${server.address}/todo.html`)];
  await Promise.all(pages.map((each) => each.until(() => document.querySelector('#connection').dataset.state === 'live')));
  await pages[0].click('#new');
  for (const text of ['Water the plants', 'Read a book', 'Call Ada']) {
    await pages[0].type(text);
    await pages[0].key('Enter');
  }
  const shows = (titles) => [...document.querySelectorAll('#list .text')].map(({ value }) => value).join() === titles.join();
  await pages[1].until(shows, { args: [['Call Ada', 'Read a book', 'Water the plants']], what: 'the other page has them' });
  await pages[1].until(() => !document.querySelector('#list .is-pending'), { what: 'they are saved' });
  await pages[1].click('#list li:nth-child(2) input');
  await pages[0].until(shows, { args: [['Call Ada', 'Water the plants', 'Read a book']], what: 'done ones last' });
  await shoot(pages[0], 'todo');
  await Promise.all(pages.map((each) => each.close()));
}

/** The sample that has a to-do list offers its page. */
async function offered({ browser, server, shoot }) {
  const page = await openPage(browser, server.address);
  await page.click('#todo-link');
  await page.until(() => document.querySelectorAll('#list li').length === 3 && document.querySelector('#connection').dataset.state === 'live');
  assert.deepEqual(await page.run(() => [document.querySelector('#title').textContent, document.querySelector('#note').hidden]), ['To-do', true]);
  await shoot(page, 'todo-sample');
  await page.click('#new');
  await page.type('Sharpen the saw');
  await page.key('Enter');
  await page.until(() => document.querySelectorAll('#list li:not(.is-pending)').length === 4, { what: 'an entry is added' });
  await page.close();
}

/** A browser that forbids cookies throws where a page reads the storage of a tab. */
async function withoutStorage({ browser, server }) {
  const page = await browser.open();
  const source = `for (const name of ['sessionStorage', 'localStorage']) {
    Object.defineProperty(window, name, { get() { throw new DOMException('It is forbidden.', 'SecurityError'); } }); }`;
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source });
  await page.go(`${server.address}/todo.html`);
  await page.until(() => document.querySelectorAll('#list li').length === 3 && document.querySelector('#connection').dataset.state === 'live');
  await page.close();
}

export const todoScenarios = {
  'the to-do list is shared': { run: todo },
  'the to-do list is offered in the sample that has one': { run: offered, options: ['todo'] },
  'the to-do list is shown in a browser that keeps nothing': { run: withoutStorage, options: ['todo'] },
};
