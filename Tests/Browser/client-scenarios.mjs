// What the client library does in a browser: saves made offline, and pages that share a connection.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { edit } from './sqlite.mjs';

/** Serves a file with a table of things to do. */
async function serveTodo(server) {
  await server.kill('SIGTERM');
  server.file = `${server.file}.todo`;
  server.isSample = false;
  edit(server.file, 'CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, done BOOLEAN NOT NULL DEFAULT 0)');
  await server.begin();
}

const state = (wanted) => document.querySelector('#connection').dataset.state === wanted;
const titles = () => [...document.querySelectorAll('#list .text')].map(({ value }) => value);
const entries = (server) => connect(server.address).fetch({ entity: 'todo', sort: 'id' })
  .then(({ sections }) => sections[0].items.map(({ title, done }) => [title, done]));

async function write(page, ...texts) {
  await page.click('#new');
  for (const text of texts) {
    await page.type(text);
    await page.key('Enter');
  }
}

async function offlineTodo({ browser, server, shoot }) {
  await serveTodo(server);
  const page = await browser.open(`${server.address}/todo.html`);
  await page.until(state, { args: ['live'] });
  await write(page, 'Buy bread');
  await page.until(() => document.querySelectorAll('#list .is-pending').length === 0
    && document.querySelectorAll('#list li').length === 1);
  await server.kill();
  await page.until(state, { args: ['offline'] });
  await write(page, 'Water the plants', 'Read a book', 'Buy bread');
  await page.click('#list li:nth-child(2) input');
  await page.until(() => document.querySelector('#state').textContent === 'offline, 4 to send');
  assert.deepEqual(await page.run(titles), ['Buy bread', 'Water the plants', 'Buy bread', 'Read a book']);
  assert.equal(await page.run(() => document.querySelectorAll('#list .is-pending').length), 3);
  await shoot(page, 'todo-offline');
  assert.deepEqual(page.problems, []);
  await page.close();
  await server.begin();
  const next = await browser.open(`${server.address}/todo.html`);
  await next.until(() => document.querySelectorAll('#list li').length === 3, { timeout: 30_000 });
  await next.until(() => document.querySelectorAll('#list .is-pending').length === 0);
  assert.deepEqual(await entries(server), [['Buy bread', false], ['Water the plants', false], ['Read a book', true]]);
  assert.match(await next.run(() => document.querySelector('#note').textContent), /title/);
  assert.deepEqual(next.problems, []);
  await next.close();
}

export const clientScenarios = {
  'what is typed offline is sent after a reload, and a refusal is shown': { run: offlineTodo },
};
