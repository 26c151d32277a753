import type { Client, Dictionary, Item } from '../livefetch.js';
import type { Followed, MaybeRequest, ResultOf } from './frameworks.js';

/** A live fetch as an object with reactive properties; the request may be a function, and null. */
export function createLive(client: Client, request: MaybeRequest<'count'> | (() => MaybeRequest<'count'>)):
  Followed<ResultOf<'count'>>;
export function createLive(client: Client, request: MaybeRequest<'ids'> | (() => MaybeRequest<'ids'>)):
  Followed<ResultOf<'ids'>>;
export function createLive<T = Dictionary>(client: Client,
  request: MaybeRequest<'dictionaries'> | (() => MaybeRequest<'dictionaries'>)): Followed<ResultOf<'dictionaries', T>>;
export function createLive<T = Item>(client: Client,
  request: MaybeRequest<'objects'> | (() => MaybeRequest<'objects'>)): Followed<ResultOf<'objects', T>>;
