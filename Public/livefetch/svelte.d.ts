import type { Client, Dictionary, Item } from '../livefetch.js';
import type { Followed, MaybeRequest, ResultOf } from './frameworks.js';

/** A store that is only read, as `svelte/store` has it. */
export interface Readable<T> {
  subscribe(run: (value: T) => void): () => void;
}

/** A live fetch as a store; the request may be a store, and null. */
export function liveStore(client: Client, request: MaybeRequest<'count'> | Readable<MaybeRequest<'count'>>):
  Readable<Followed<ResultOf<'count'>>>;
export function liveStore(client: Client, request: MaybeRequest<'ids'> | Readable<MaybeRequest<'ids'>>):
  Readable<Followed<ResultOf<'ids'>>>;
export function liveStore<T = Dictionary>(client: Client,
  request: MaybeRequest<'dictionaries'> | Readable<MaybeRequest<'dictionaries'>>):
  Readable<Followed<ResultOf<'dictionaries', T>>>;
export function liveStore<T = Item>(client: Client,
  request: MaybeRequest<'objects'> | Readable<MaybeRequest<'objects'>>): Readable<Followed<ResultOf<'objects', T>>>;
