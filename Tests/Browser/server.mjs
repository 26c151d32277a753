// A server of the sample data in a directory of its own, on a port that the system picks.

import { spawn, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, LONGEST } from './browser.mjs';

const pages = resolve(dirname(fileURLToPath(import.meta.url)), '../../Public');

export class Server {
  /** A promise of the sample's file, which takes long to make: it is made once and copied. */
  static #sample = null;
  /** Those that have not ended. They end with this process. */
  static #running = new Set();
  #binary;
  #options;
  #environment;
  #process;
  #isKilled = false;

  constructor(binary, directory, options, environment) {
    this.#binary = binary;
    this.#options = options;
    this.#environment = environment;
    this.directory = directory;
    this.file = join(directory, 'demo.sqlite');
    /** True if the file is the sample, which the program creates. */
    this.isSample = true;
  }

  /**
   * @param options more of the command line, `--max-items 200000` say.
   * @param scenario `fixture`: SQL that fills a new file, which is served in place of the sample;
   * `files`: other files of the directory, text by name; `environment`: variables of the process.
   */
  static async start(binary, options = [], { fixture, files = {}, environment = {} } = {}) {
    const directory = await mkdtemp(join(tmpdir(), 'livefetch-server-'));
    for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
    const server = new Server(resolve(binary), directory, options, environment);
    Server.#running.add(server);
    if (fixture !== undefined) {
      server.isSample = false;
      script(server.file, fixture);
    } else if (options[0]?.startsWith('-') ?? true) await copyFile(await (Server.#sample ??= Server.#made(resolve(binary))), server.file);
    await server.begin();
    return server;
  }

  /** Serves the sample until its file exists; resolves to the file's path. */
  static async #made(binary) {
    const directory = await mkdtemp(join(tmpdir(), 'livefetch-sample-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const server = new Server(binary, directory, []);
    await server.begin();
    await server.kill('SIGTERM');
    return server.file;
  }

  /** Starts the process, on the port that it had before if it had one. */
  async begin() {
    const args = [...(this.isSample ? ['demo', '--data'] : ['serve']), this.file, '--port', String(this.port ?? 0), '--public', pages,
      ...this.#options];
    this.#isKilled = false;
    this.#process = spawn(this.#binary, args, { cwd: this.directory,
      env: { ...process.env, ...this.#environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    const [address] = await this.#line(/http:\/\/127\.0\.0\.1:(\d+)/);
    this.address = address;
    this.port = Number(new URL(address).port);
  }

  /** Ends the process at once, as a crash would, and waits until it is gone. Fails if it has ended by itself,
   * or does not end with status 0 on SIGTERM. */
  async kill(signal = 'SIGKILL') {
    this.#isKilled = true;
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) throw new Error(`the server has ended with ${exitCode ?? signalCode}`);
    const gone = new Promise((done) => this.#process.once('exit', done));
    this.#process.kill(signal);
    const late = setTimeout(() => this.#process.kill('SIGKILL'), LONGEST);
    const status = await gone;
    clearTimeout(late);
    if (signal === 'SIGTERM' && status !== 0) throw new Error(`SIGTERM ended the server with ${status}`);
  }

  /** Ends the process if it runs, and removes its directory. */
  async end() {
    try {
      if (!this.#isKilled) await this.kill('SIGTERM');
    } finally {
      Server.#running.delete(this);
      await rm(this.directory, { recursive: true, force: true });
    }
  }

  static {
    process.once('exit', () => Server.#running.forEach((server) => {
      server.#process?.kill('SIGKILL');
      rmSync(server.directory, { recursive: true, force: true });
    }));
  }

  /** Waits until the server knows a new key: it looks for them every few seconds. */
  async knows(key) {
    const isKnown = async () => (await fetch(`${this.address}/v1`, { headers: { Authorization: `Bearer ${key}` } })).status !== 401;
    await eventually(isKnown, true, 'the server knows the key');
  }

  /** Runs a command of the program, `key create FILE --name …` say; its standard output. */
  run(...args) {
    const { status, stdout, stderr } = spawnSync(this.#binary, args, { encoding: 'utf8', cwd: this.directory });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  #line(pattern) {
    let text = '';
    return new Promise((found, failed) => {
      const read = (data) => {
        text += data;
        const match = pattern.exec(text);
        if (match) found(match);
      };
      this.#process.stdout.on('data', read);
      this.#process.stderr.on('data', (data) => { text += data; });
      this.#process.once('error', failed);
      this.#process.once('exit', (code) => failed(new Error(`the server ended with ${code}: ${text}`)));
    });
  }
}

/** Runs SQL on a file, as another program would. */
export function script(file, sql) {
  const code = 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()';
  const { status, stderr } = spawnSync('python3', ['-c', code, file, sql], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}
