// The command lines that the page shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curl, curlInsert, curlUpdate } from '../../../Public/explorer/curl.js';
import { inWords } from '../../../Public/explorer/session.js';

const origin = 'http://localhost:8080';
const lines = () => [curl({ entity: 'A' }, 'once', 't', origin), curl({ entity: 'A' }, 'stream', 't', origin),
  curlUpdate('A', 'it’s', { n: "'" }, origin), curlInsert('A b', { n: 1 }, origin)];

test('command lines carry the token where there is one, without its value', (context) => {
  assert.deepEqual(lines(), [
    "curl -G \\\n  http://localhost:8080/v1/objects/A",
    "curl -GN \\\n  -H 'Accept: text/event-stream' \\\n  http://localhost:8080/v1/objects/A",
    "curl -X PATCH \\\n  http://localhost:8080/v1/objects/A/it%E2%80%99s \\\n  --json '{\"n\":\"'\\''\"}'",
    "curl \\\n  http://localhost:8080/v1/objects/A%20b \\\n  --json '{\"n\":1}'"]);
  globalThis.sessionStorage = { getItem: () => 'secret' };
  context.after(() => { delete globalThis.sessionStorage; });
  const header = '  -H "Authorization: Bearer $LIVEFETCH_TOKEN" \\';
  for (const line of lines()) {
    assert.equal(line.split('\n')[1], header);
    assert.ok(!line.includes('secret'));
  }
});

test('scopes are named in words', () => {
  assert.equal(inWords({ read: true, write: true, admin: true }), 'read, save, and administer');
  assert.equal(inWords({ read: true }), 'read');
  assert.equal(inWords({}), 'do nothing');
});
