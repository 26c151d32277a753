// The client library as a package: it is packed, installed and run in Node.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { block } from './manual.mjs';

const library = fileURLToPath(new URL('../../Public', import.meta.url));

/** Installs the package as npm packs it, then the one that the server has; without npm, the files as they are. */
function install(directory, address) {
  // The package needs no other one: nothing is asked of a registry.
  const npm = (...args) => spawnSync('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=0'],
    { cwd: directory, encoding: 'utf8' });
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  const packed = npm('pack', library, '--silent');
  if (packed.error) {
    mkdirSync(join(directory, 'node_modules'));
    cpSync(library, join(directory, 'node_modules/livefetch'), { recursive: true });
    return 'npm is not installed';
  }
  assert.equal(packed.status, 0, packed.stderr);
  const entry = join(directory, 'node_modules/livefetch/livefetch.js');
  for (const source of [`./${packed.stdout.trim()}`, `${address}/livefetch.tgz`]) {
    const installed = npm('install', source);
    assert.equal(installed.status, 0, installed.stderr);
    assert.ok(existsSync(entry), source);
    if (!source.startsWith('http')) rmSync(join(directory, 'node_modules'), { recursive: true });
  }
  return 'packed and installed by npm, then installed from the server';
}

function node(directory, file) {
  const program = spawn(process.execPath, [file], { cwd: directory });
  const output = { stdout: '', stderr: '' };
  for (const name of Object.keys(output)) program[name].on('data', (data) => { output[name] += data; });
  return new Promise((resolve) => program.on('close', (status) => resolve({ ...output, status })));
}

async function firstExample({ server }) {
  const note = install(server.directory, server.address);
  const example = block('javascript.md', "import { connect } from 'livefetch'");
  writeFileSync(join(server.directory, 'example.js'), example.replace("'http://127.0.0.1:8080'", `'${server.address}'`));
  const { stdout, stderr, status } = await node(server.directory, 'example.js');
  assert.deepEqual([stderr, status], ['', 0]);
  assert.match(stdout, /^\d+ cities of a million\nTokyo, \S+, \S+\n/);
  writeFileSync(join(server.directory, 'exports.js'),
    `import { fileStorage } from 'livefetch/node';
    import { liveStore } from 'livefetch/svelte';
    import { LiveTarget } from 'livefetch/event-target';
    console.log(typeof fileStorage, typeof liveStore, typeof LiveTarget);
    for (const name of ['react', 'vue', 'solid']) console.log(import.meta.resolve('livefetch/' + name).endsWith(name + '.js'));`);
  assert.equal((await node(server.directory, 'exports.js')).stdout, 'function function function\ntrue\ntrue\ntrue\n');
  return note;
}

export const packageScenarios = {
  'the first example of the documentation runs in Node, with the package': { run: firstExample },
};
