// What a program in TypeScript writes: compiled by the tests, never run. Each line marked with
// `@ts-expect-error` has to be refused.

import { advance, apply, connect, Decimal, digest, fnv1a, idOf, indexedDBStorage, isEmptyDiff, isPending,
  LiveFetchError, OutOfStep, route } from '../../../Public/livefetch.js';
import { fileStorage } from '../../../Public/livefetch/node.js';
import type { AnyResult, Change, Diff, FetchRequest, ID, Item, Live, LiveResult, Result, Section, Shape } from '../../../Public/livefetch.js';

interface City {
  id: number;
  name: string;
  population: number | null;
}

const request: FetchRequest = { entity: 'City', where: 'population >= %ld', arguments: [1_000_000],
  sort: ['-population'] as const, section: 'country.name', limit: 50, as: 'objects', count: 'exact' };

export async function use(): Promise<string[]> {
  const client = connect('http://127.0.0.1:8080', { token: async () => sessionStorage.getItem('token'),
    stream: true, multiplex: false, digest: true, int64: null, headers: { 'X-Own': '1' }, fetch });
  const live: Live<City> = client.live<City>(request, {
    onChange: (current: LiveResult<City>, { cause, bytes = 0 }) => draw(current.sections, cause, bytes),
    onDiff: (diff, current) => follow(diff, current.token),
    onState: (state, error) => state === 'offline' && error?.retryAfter,
    onReport: ({ kind, expected, actual }) => console.warn(kind, expected, actual),
    onError: ({ code, offset, hint, problem }) => console.warn(code, offset, hint, problem.found) });
  const stop = live.subscribe(() => live.current?.total);
  const once: Result<City> = await client.fetch<City>(request, { signal: new AbortController().signal });
  const { ids } = await client.save([
    { insert: 'City', temporaryID: 'c', values: { name: 'Poseidonis' } },
    { update: 'City', id: { temporaryID: 'c' }, values: { population: 1 } },
    { delete: 'City', id: 7, ifMatch: '"9f3c"' }], { mergePolicy: 'objectWins', idempotencyKey: 'k' });
  const { id } = await client.insert('City', { name: 'Atlantis' }, { optimistic: false });
  await client.update('City', id, { name: 'Atlantis II' }, { base: { name: 'Atlantis' } });
  await client.delete('City', ids.c, { prefer: 'return=minimal' });
  const { object, etag } = await client.object<City>('City', id);
  stop();
  live.close();
  return [object.name, etag ?? '', client.temporaryID(), digest(once.sections), String(fnv1a('a'))];
}

function draw(sections: Section<City>[], cause: string, bytes: number) {
  for (const { name, items } of sections) {
    for (const city of items) console.log(name, city.name, isPending(city), cause, bytes, idOf(city));
  }
}

function follow(diff: Diff<City>, token: string): Section<City>[] {
  if (isEmptyDiff(diff) || diff.to !== token) return [];
  if (diff.reset) return diff.sections ?? [];
  if (!diff.items) return [];
  const names: (string | undefined)[] = diff.items.inserted.map(({ item }) => item?.name);
  return names.length > 0 ? apply<City>([], diff) : [];
}

export function step(held: Result<City>, diff: Diff<City>): Result<City> {
  try {
    return advance(held, diff);
  } catch (error) {
    if (error instanceof OutOfStep || error instanceof LiveFetchError && error.isTransient) return held;
    throw error;
  }
}

const { method, path, body } = route(request);
console.log(method === 'POST' ? body : path);
// @ts-expect-error an entity is needed
connect().live({ where: 'TRUEPREDICATE' });
// @ts-expect-error there is no such shape
connect().fetch({ entity: 'City', as: 'rows' });
// @ts-expect-error a city has no such attribute
connect().live<City>(request, { onChange: ({ sections }) => sections[0].items[0].size });
// @ts-expect-error an update names its object
connect().save([{ update: 'City', values: {} }]);
/** Numbers of any size and precision. */
export async function numbers() {
  const client = connect();
  await client.update('City', 9223372036854775807n, { population: 9007199254740993n }, { base: { population: 1n } });
  await client.save([{ delete: 'City', id: 1n }]);
  await client.update('City', 1, { area: new Decimal('1.5') }, { base: { area: new Decimal('0.1').digits } });
  // @ts-expect-error digits are text
  new Decimal(1.5);
  const { sections } = await client.fetch({ entity: 'City', where: 'population == %@', arguments: [1n] });
  const value: string | number | bigint | boolean | null | object = sections[0].value;
  // @ts-expect-error an id is a number or text
  const id: bigint = sections[0].items[0].id;
  return [(await client.object('City', 1n)).object.id, value, id];
}
const item: Item = { id: 1, anything: 'goes' };
console.log(item.anything);

/** Each shape of a request has its own result, diff and handlers. */
export async function shapes() {
  const client = connect();
  const total: number = (await client.fetch({ entity: 'City', as: 'count' })).total;
  const first: ID = (await client.fetch({ entity: 'City', as: 'ids' })).sections[0].items[0];
  const rows = await client.fetch<{ continent: string; n: number }>(
    { entity: 'Country', as: 'dictionaries', select: 'continent,n:@count', group: 'continent' });
  const name: string = rows.sections[0].items[0].continent;
  const count = client.live({ entity: 'City', as: 'count' }, {
    onChange: ({ total, isPending }) => console.log(total.toFixed(), isPending),
    onDiff: (diff) => console.log(diff.total.toFixed()) });
  const shown: number | undefined = count.current?.total;
  client.live({ entity: 'City', as: 'ids' },
    { onDiff: (diff) => diff.items.inserted.map(({ id }): ID => id) });
  client.live({ entity: 'City' }, { onDiff: (diff) => diff.items.inserted.map(({ item }): ID => item.id) });
  client.live({ entity: 'Country', as: 'dictionaries' },
    { onDiff: (diff) => diff.reset && diff.sections?.map(({ items }) => items[0].n) });
  // @ts-expect-error a count has no sections
  (await client.fetch({ entity: 'City', as: 'count' })).sections;
  // @ts-expect-error a count has no type of its items
  client.fetch<City>({ entity: 'City', as: 'count' });
  // @ts-expect-error an id has no attributes
  (await client.fetch({ entity: 'City', as: 'ids' })).sections[0].items[0].name;
  // @ts-expect-error the dictionaries have no such column
  rows.sections[0].items[0].population;
  // @ts-expect-error a live count has no sections to draw
  client.live({ entity: 'City', as: 'count' }, { onChange: ({ sections }) => sections });
  // @ts-expect-error an inserted id has no item
  client.live({ entity: 'City', as: 'ids' }, { onDiff: (diff) => diff.items.inserted[0].item.name });
  // @ts-expect-error objects have no total without `count: 'exact'`
  const exact: number = (await client.fetch({ entity: 'City' })).total;
  return [total, first, name, shown, exact];
}

/** A request whose shape is not known is of any of them. */
export async function wrap(request: FetchRequest<Shape>) {
  const result: AnyResult = await connect().fetch(request);
  return 'sections' in result ? result.sections : result.total;
}

/** A client that keeps its saves. */
export function offline() {
  connect('', { offline: true, onQueue: (size, error) => console.log(size, error?.code) });
  connect('', { offline: indexedDBStorage('notes') });
  // @ts-expect-error a storage has four functions
  connect('', { offline: { get: async () => 1 } });
  return connect('', { offline: fileStorage('kept'),
    onRefused: ({ code, errors }, { changes }) => console.warn(code, errors[0]?.stored, changes.length) });
}

/** Saves of many objects by a predicate, the saved objects in the answer, and preconditions. */
export async function batches() {
  const client = connect();
  const change: Change = { update: 'City', where: 'population < %ld', arguments: [5], values: { population: 5 } };
  const { included } = await client.save([change, { delete: 'City', where: 'population < $least', variables: { least: 5 } }],
    { prefer: 'return=representation' });
  const { object, etag } = await client.object('City', 1);
  await client.update('City', 1, { name: 'Lima' }, { ifMatch: etag });
  // @ts-expect-error the server refuses null in a change
  client.save([{ delete: 'City', id: 1, ifMatch: null }]);
  await client.update('City', 1, { founded: new Date() }, { base: { founded: new Date(0) } });
  await client.fetch({ entity: 'City', where: 'founded > %@ AND founded < $d', arguments: [new Date(0)], variables: { d: new Date() } });
  // @ts-expect-error a batch has a predicate or an id, not both
  client.save([{ delete: 'City', id: 1, where: 'population < 5' }]);
  // @ts-expect-error an update has values
  client.save([{ update: 'City', where: 'population < 5' }]);
  // @ts-expect-error only with `return=representation`
  included.City;
  return [object, included?.City?.['1']?.name];
}
