// A PostgreSQL server of one scenario: on a Unix socket in a folder of its own, without TCP. It stops and
// removes its files when `end` is called, and when this process ends.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';

/** Runs until its standard input ends. */
const supervise = `
  trap '' INT TERM HUP PIPE
  umask 077
  mkdir -m 700 "$2" || exit 1
  "$1/initdb" -D "$2/data" -U tester -A trust -E UTF8 --no-locale --no-sync >"$2/log" 2>&1 || exit 1
  "$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off >>"$2/log" 2>&1 </dev/null &
  server=$!
  until "$1/pg_isready" -q -h "$2" 2>/dev/null; do
    kill -0 $server 2>/dev/null || exit 1
    sleep 0.05
  done
  echo ready
  read -r _
  kill -QUIT $server
  wait $server
  rm -rf "$2"`;

/** The folder of the newest installed server's programs. */
const binaries = () => {
  const versions = '/usr/lib/postgresql';
  const installed = existsSync(versions) ? readdirSync(versions).map(Number).filter(Number.isInteger).sort((a, b) => b - a) : [];
  return [...installed.map((version) => `${versions}/${version}/bin`), '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin']
    .find((folder) => existsSync(`${folder}/initdb`));
};

export class Postgres {
  #binaries;
  #supervisor;

  constructor(folder) {
    this.#binaries = folder;
    // The path of a socket has at most 107 bytes.
    this.directory = `/tmp/livefetch-pg-${randomUUID().slice(0, 13)}`;
    /** The connection string of the database that the program serves. */
    this.address = `host=${this.directory} user=tester dbname=postgres`;
  }

  /** Null where PostgreSQL is not installed. */
  static async start() {
    const folder = binaries();
    if (!folder) return null;
    const postgres = new Postgres(folder);
    await postgres.#begin();
    return postgres;
  }

  async #begin() {
    // PostgreSQL refuses to run as root.
    const user = process.getuid() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
    const [program, ...args] = [...user, 'sh', '-c', supervise, 'sh', this.#binaries, this.directory];
    this.#supervisor = spawn(program, args, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
    const ready = new Promise((resolve) => this.#supervisor.stdout.once('data', resolve));
    const ended = new Promise((_, reject) => {
      this.#supervisor.once('error', reject);
      this.#supervisor.once('exit', () => reject(new Error(`PostgreSQL does not start; see ${this.directory}/log`)));
    });
    ended.catch(() => {});
    await Promise.race([ready, ended]);
  }

  /** Runs SQL as another program would. */
  run(sql) {
    const { status, stderr } = spawnSync(`${this.#binaries}/psql`,
      ['-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-c', sql, this.address], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }

  async end() {
    const gone = new Promise((resolve) => this.#supervisor.once('exit', resolve));
    this.#supervisor.stdin.end();
    await gone;
  }
}
