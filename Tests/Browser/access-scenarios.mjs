// The page for a caller who sees and changes a part of the rows.

import assert from 'node:assert/strict';
import { isLive } from './pages.mjs';
import { giveToken } from './session-scenarios.mjs';

const notes = `
  CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, owner TEXT, secret TEXT, created TEXT);
  INSERT INTO note VALUES (1, 'mine', 'ann', 's1', '2024'), (2, 'also mine', 'ann', 's2', '2024'), (3, 'not mine', 'bob', 's3', '2024');`;

const rules = JSON.stringify({ entities: { note: {
  access: { read: 'owner == $user.id', insert: 'owner == $user.id', update: 'owner == $user.id', delete: false },
  attributes: { secret: { hidden: true }, created: { readOnly: true } } } } });

async function signIn(page, key) {
  await giveToken(page, key);
  await page.until(() => /^Signed in/.test(document.querySelector('.sign-in')?.textContent));
  await page.key('Enter');
  await page.until(isLive);
}

const ids = () => globalThis.livefetch.page.live.sections.flatMap(({ items }) => items.map(({ id }) => id));

async function ownRows({ browser, server, shoot }) {
  const key = server.run('key', 'create', server.file, '--name', 'ann', '--scope', 'read', '--scope', 'write', '--user', 'ann');
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  await server.knows(key);
  const page = await browser.open(`${server.address}/?entity=note&sort=id`, { width: 1440, height: 900 });
  await signIn(page, key);
  await page.until(() => document.querySelectorAll('.grid-body .row').length === 2);
  assert.ok(!(await page.run(() => document.documentElement.outerHTML)).includes('not mine'), "another caller's row is not there");
  assert.deepEqual(await page.run(() => globalThis.livefetch.page.grid.columns.map(({ name }) => name).includes('secret')), false);

  // A row that another caller gives away comes, one that is given away goes, without a reload.
  server.run('alter', server.file, "UPDATE note SET owner = 'ann' WHERE id = 3");
  await page.until(() => document.querySelectorAll('.grid-body .row').length === 3, { what: 'the row comes' });
  server.run('alter', server.file, "UPDATE note SET owner = 'bob' WHERE id = 1");
  await page.until(() => document.querySelectorAll('.grid-body .row:not(.is-leaving)').length === 2, { what: 'the row goes' });
  assert.equal((await fetch(`${server.address}/v1/objects/note/1`, { headers })).status, 404);

  // It changes its own row, and no other one.
  await page.run(() => globalThis.livefetch.client.update('note', 2, { text: 'changed' }));
  await page.until(() => [...document.querySelectorAll('.row .cell')].some(({ textContent }) => textContent === 'changed'), { what: 'the change is shown' });
  assert.equal(await page.run(() => globalThis.livefetch.client.update('note', 1, { text: 'taken' }).then(() => null, ({ status }) => status)), 404);

  // A save that a rule refuses is 403, and the row stays.
  await page.run(() => globalThis.livefetch.page.rowPanel.open('note', 2));
  await page.until(() => document.querySelectorAll('.row-panel .row-field').length > 2);
  const refusal = await page.run(async () => {
    try {
      await globalThis.livefetch.client.save([{ delete: 'note', id: 2 }]);
      return null;
    } catch (error) {
      return { status: error.status, code: error.code };
    }
  });
  assert.equal(refusal?.status, 403);
  await shoot(page, 'access');
  assert.deepEqual(await page.run(ids), [2, 3]);
  await page.close();
}

/** Two pages share one connection, whose refusal each of them reports; a valid key then connects it. */
async function refusedKey({ browser, server }) {
  const pages = [];
  for (let number = 0; number < 2; number += 1) {
    const page = await browser.open(`${server.address}/explorer/style.css`);
    await page.run(async () => {
      const { connect } = await import('/livefetch.js');
      globalThis.key = 'wrong';
      const client = connect('', { token: () => globalThis.key });
      globalThis.follow = () => { globalThis.live = client.live({ entity: 'note' }, { onError: () => {} }); };
      globalThis.follow();
    });
    pages.push(page);
  }
  for (const page of pages) {
    await page.until(() => globalThis.live.state === 'failed', { what: 'the refusal is reported' });
    assert.deepEqual(await page.run(() => [globalThis.live.error.status, globalThis.live.error.code]), [401, 'unauthorized']);
    await page.run(() => { globalThis.key = 'secret'; globalThis.follow(); });
  }
  for (const page of pages) {
    await page.until(() => globalThis.live.state === 'live');
    await page.close();
  }
}

export const accessScenarios = {
  'pages with a refused key say so, and connect with a valid one': {
    run: refusedKey, fixture: notes, environment: { LIVEFETCH_TOKEN: 'secret' } },
  'a caller sees and changes its own rows, live': {
    run: ownRows, fixture: notes, files: { 'rules.json': rules }, options: ['--access', 'rules.json'], environment: { LIVEFETCH_TOKEN: 'secret' } },
};
