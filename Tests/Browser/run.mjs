// The page in a real browser, against a real server:
//
//     node Tests/Browser/run.mjs .build/debug/livefetch [--seed N] [--rows N] [--only TEXT]
//                                                       [--shots DIRECTORY]
//
// Needs Node 20 and Chromium (`apt-get install chromium`; CHROMIUM names another program). Ends
// with status 1 if a check fails; the seed of the random edits is printed.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Browser } from './browser.mjs';
import { Server } from './server.mjs';
import { scenarios } from './scenarios.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: {
  seed: { type: 'string' }, rows: { type: 'string', default: '100000' },
  only: { type: 'string', default: '' }, shots: { type: 'string' } } });

if (positionals.length !== 1) {
  console.error('usage: node Tests/Browser/run.mjs BINARY [--seed N] [--rows N] [--only TEXT] [--shots DIRECTORY]');
  process.exit(64);
}

/** A scenario that takes longer, in milliseconds, has failed. */
const LIMIT = 15 * 60_000;

const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
console.log(`seed ${seed}`);
if (values.shots) await mkdir(values.shots, { recursive: true });

const chosen = Object.entries(scenarios).filter(([name]) => name.includes(values.only));
if (chosen.length === 0) {
  console.error(`no scenario has a name with “${values.only}”`);
  process.exit(1);
}

// The servers and the browser end in 'exit'.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
const browser = await Browser.start();
let failures = 0;
for (const [name, { run, options, writesToConsole = false, ...files }] of chosen) {
  const began = Date.now();
  let server;
  try {
    server = await inTime(Server.start(positionals[0], options, files));
    const note = await inTime(run({ browser, server, seed, rows: Number(values.rows), shoot }));
    const problems = await browser.closePages();
    if (problems.length > 0 && !writesToConsole) throw new Error(`a page has written to the console: ${problems.join('; ')}`);
    await server.end();
    console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)${note ? `: ${note}` : ''}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL  ${name}\n      ${error.stack.replaceAll('\n', '\n      ')}`);
    await browser.closePages().catch(() => {});
    await server?.kill('SIGKILL').catch(() => {});
    await server?.end().catch(() => {});
  }
}
await browser.end();
console.log(failures === 0 ? 'all passed' : `${failures} failed (seed ${seed})`);
process.exit(failures === 0 ? 0 : 1);

/** Rejects when the limit is over. */
function inTime(work) {
  let timer;
  const over = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`it takes more than ${LIMIT} ms`)), LIMIT); });
  return Promise.race([work, over]).finally(() => clearTimeout(timer));
}

/** Writes a picture of a page if `--shots` is given. */
async function shoot(page, name) {
  if (values.shots) await writeFile(join(values.shots, `${name}.png`), await page.screenshot());
}
