// A fetch request → the command line that makes it. Where a token is needed, it is read from the
// terminal's own variable: the page shows it nowhere.

import { stringify } from './json.js';
import { token as ownToken } from './session.js';
import { clean, route } from '../livefetch/transport.js';

const quote = (text) => `'${String(text).replaceAll("'", String.raw`'\''`)}'`;

/** A URL, in quotes where a shell would read its characters: `encodeURIComponent` leaves parentheses and `'`. */
const address = (url) => (/^[\w:/.%@~[\]-]*$/.test(url) ? url : quote(url));

const credential = () => (ownToken() ? ['  -H "Authorization: Bearer $LIVEFETCH_TOKEN"'] : []);

/**
 * @param mode `once`, `stream` (every change as it comes) or `poll` (the diff since `token`).
 */
export function curl(request, mode, token, origin = location.origin) {
  const { entity, ...parameters } = clean(request);
  if (mode === 'poll') parameters.since = token;
  const isGet = route({ entity, ...parameters }).method === 'GET';
  const flags = `${isGet ? 'G' : ''}${mode === 'stream' ? 'N' : ''}`;
  const head = [`curl${flags && ` -${flags}`}`, ...credential(), ...(mode === 'stream' ? ["  -H 'Accept: text/event-stream'"] : [])];
  if (!isGet) return [...head, `  ${origin}/v1/fetch`, `  --json ${quote(stringify({ entity, ...parameters }))}`].join(' \\\n');
  const lines = Object.entries(parameters).map(
    ([name, value]) => `  --data-urlencode ${quote(`${name}=${written(value)}`)}`);
  const target = `  ${address(`${origin}/v1/objects/${encodeURIComponent(entity)}`)}`;
  return [...head, target, ...lines].join(' \\\n');
}

/** A list joined by commas; a predicate in it may have commas of its own in brackets. */
const written = (value) => (Array.isArray(value) ? value.join(',') : value);

/** The command line that changes one object. */
export function curlUpdate(entity, id, values, origin = location.origin) {
  const place = [entity, id].map(encodeURIComponent).join('/');
  return ['curl -X PATCH', ...credential(), `  ${address(`${origin}/v1/objects/${place}`)}`,
    `  --json ${quote(stringify(values))}`].join(' \\\n');
}

/** The command line that inserts one object. */
export function curlInsert(entity, values, origin = location.origin) {
  return ['curl', ...credential(), `  ${address(`${origin}/v1/objects/${encodeURIComponent(entity)}`)}`,
    `  --json ${quote(stringify(values))}`].join(' \\\n');
}
