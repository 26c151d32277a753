// A server that needs a token: signing in, what the page offers then, and signing out.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, pause } from './browser.mjs';
import { connectionText, labels, shapes } from './file-scenarios.mjs';
import { isLive } from './pages.mjs';

const text = (selector) => document.querySelector(selector)?.textContent ?? '';

export async function giveToken(page, value) {
  await page.until(() => document.querySelector('.sign-in input'), { what: 'the sign-in panel' });
  await page.run(() => document.querySelector('.sign-in input').select());
  await page.type(value);
  await page.key('Enter');
}

async function signInPanel({ browser, server, shoot }) {
  const reader = server.run('key', 'create', server.file, '--name', 'reader', '--scope', 'read');
  const writer = server.run('key', 'create', server.file, '--name', 'writer', '--scope', 'write');
  await server.knows(writer);
  const page = await browser.open(`${server.address}/?entity=Artist&sort=Year`, { width: 390, height: 844, scheme: 'dark', isTouch: true });
  await giveToken(page, 'secre');
  await page.until(() => /^Wrong token/.test(document.querySelector('.sign-in .complaint')?.textContent));
  // The server refuses the request as such: this is no sign that the token is right.
  await giveToken(page, 'control \u0001');
  await page.until(() => !/^Wrong token|^$/.test(document.querySelector('.sign-in .complaint')?.textContent ?? ''), { what: 'a refusal' });
  assert.equal(await page.run(() => document.querySelector('.sign-in h2').textContent), 'Sign in');
  await shoot(page, 'token-wrong');
  await page.key('Escape');
  await page.key('Escape');
  await pause(300);
  await page.until(() => document.querySelector('.sign-in').open, { what: 'the panel stays' });
  await giveToken(page, writer);
  await page.until(() => /may not read/.test(document.querySelector('.sign-in .complaint')?.textContent));
  await giveToken(page, reader);
  await page.until(() => /^Signed in/.test(document.querySelector('.sign-in')?.textContent));
  assert.match(await page.run(text, '.sign-in'), /This token may read\..*not allowed: insert/);
  await shoot(page, 'token-scopes');
  await page.key('Enter');
  await page.until(isLive);
  assert.deepEqual(await page.run(labels), ['Groups', 'Columns', 'Export'], 'a reader is offered nothing that saves');
  assert.equal(await page.run(connectionText), 'live');
  await page.close();
  await signedIn({ browser, server, shoot, reader });
}

async function signedIn({ browser, server, shoot, reader }) {
  const page = await browser.open(`${server.address}/?entity=Artist&sort=Year`, { width: 1920, height: 1000 });
  await giveToken(page, 'secrét');
  await page.until(() => /may read, save, and administer/.test(document.querySelector('.sign-in')?.textContent));
  await page.key('Enter');
  await page.until(isLive);
  assert.ok((await page.run(labels)).includes('New Artist'));
  assert.match(await page.run(text, '.code'), /^curl -GN \\\n {2}-H "Authorization: Bearer \$LIVEFETCH_TOKEN" \\\n/);
  assert.ok(!(await page.run(() => document.documentElement.outerHTML)).includes('secrét'));
  await shoot(page, 'token');
  await browser.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: server.directory });
  await page.go(`${server.address}/openapi.html`);
  await page.until(() => document.querySelector('.operation'), { what: 'the document is rendered with the token' });
  await page.click('a[href="/openapi.json"]');
  const file = join(server.directory, 'openapi.json');
  await eventually(() => existsSync(file), true, 'the document is downloaded');
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).openapi, '3.1.0');
  assert.equal(await page.run(async () => (await fetch(document.querySelector('a[href="/docs/"]').href)).status), 200);
  await page.go(`${server.address}/?entity=Artist&sort=Year`);
  await page.until(isLive, { what: 'the tab keeps its token' });
  await page.run(() => {
    const { editing, live } = globalThis.livefetch.page;
    sessionStorage.setItem('livefetch.staged other other.sqlite', '{"objects":[],"inserts":[]}');
    editing.staged.set('Artist', live.sections[0].items[0], 'Name', 'Of the first user');
  });
  await page.click('#session');
  await page.until(() => /Sign out/.test(document.querySelector('.sign-in')?.textContent));
  await page.click('.sign-in .danger');
  await page.until(() => document.querySelector('.question'), { what: 'it asks before it discards' });
  await shoot(page, 'sign-out');
  await page.click('.question .button:not(.primary)');
  await page.until(() => !document.querySelector('.question'), { what: 'the question goes' });
  assert.deepEqual(await page.run(() => globalThis.livefetch.page.editing.staged.list.map(({ values }) => values)), [{ Name: 'Of the first user' }]);
  assert.equal(await page.run(() => sessionStorage.getItem('livefetch-token')), 'secrét', 'still signed in');
  await page.click('.sign-in .danger');
  await page.until(() => document.querySelector('.question'));
  await page.click('.question .primary');
  await page.until(() => document.querySelector('.sign-in input'), { what: 'signed out' });
  assert.equal(await page.run(() => sessionStorage.length), 0);
  await giveToken(page, reader);
  await page.until(() => /^Signed in/.test(document.querySelector('.sign-in')?.textContent));
  await page.key('Enter');
  await page.until(isLive);
  server.run('key', 'revoke', server.file, 'reader');
  await page.until(() => /no longer valid/.test(document.querySelector('.sign-in')?.textContent),
    { what: 'the revoked key is noticed' });
  await giveToken(page, 'secrét');
  await page.until(() => /^Signed in/.test(document.querySelector('.sign-in')?.textContent));
  await page.key('Enter');
  await page.until(isLive, { what: 'it goes on with another token' });
  assert.ok((await page.run(labels)).includes('New Artist'));
  await page.close();
}

export const sessionScenarios = {
  'a token is asked for, judged, kept and forgotten':
    { run: signInPanel, fixture: shapes, environment: { LIVEFETCH_TOKEN: 'secrét' } },
};
