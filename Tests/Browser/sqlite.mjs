// Changes a file as another program would.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

export function edit(file, sql) {
  const code = 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()';
  const { status, stderr } = spawnSync('python3', ['-c', code, file, sql], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}
