// The JavaScript blocks of the README and the manual.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

/** Every block, as the name of its page and its text. */
export function blocks() {
  const pages = readdirSync(new URL('Public/docs', root)).filter((name) => name.endsWith('.md'));
  return [['README.md', 'README.md'], ...pages.map((name) => [name, `Public/docs/${name}`])].flatMap(([page, path]) =>
    [...readFileSync(new URL(path, root), 'utf8').matchAll(/^```jsx?\n([^]*?)^```$/gm)].map(([, text]) => ({ page, text })));
}

/** The block of the page that begins with `start`, which no other block of the page does. */
export function block(page, start) {
  const found = blocks().filter((each) => each.page === page && each.text.startsWith(start));
  assert.equal(found.length, 1, `${page}: ${start}`);
  return found[0].text;
}
