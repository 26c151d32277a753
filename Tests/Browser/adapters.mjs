// Extracts the adapters from `Public/docs/javascript.md`, so that the tests run the code that people
// copy.

import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('../../Public/docs/javascript.md', import.meta.url), 'utf8');

/** The code under a heading (`React`, `Vue`, …), without what is commented out. */
export function adapter(name) {
  const place = text.indexOf(`**${name}**`);
  const [, code] = /```jsx?\n([^]*?)```/.exec(text.slice(place));
  return code.split('\n').filter((line) => !line.startsWith('//')).join('\n').trim();
}

/** The adapter as a function of what it imports: `build(adapter('Vue'), { shallowRef, … })`. */
export function source(code) {
  const name = /export function (\w+)/.exec(code)[1];
  const names = [...code.matchAll(/^import \{([^}]*)\} from/gm)].flatMap(([, list]) => list.split(','));
  const body = code.replace(/^import .*\n/gm, '').replace('export ', '');
  return { parameters: names.map((each) => each.trim()), body: `${body}\nreturn ${name};` };
}

export function build(code, imports = {}) {
  const { parameters, body } = source(code);
  return new Function(...parameters, body)(...parameters.map((name) => imports[name]));
}
