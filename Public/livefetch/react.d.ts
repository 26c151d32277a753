import type { Client, Dictionary, Item } from '../livefetch.js';
import type { Followed, MaybeRequest, ResultOf } from './frameworks.js';

export interface Options {
  /** The component suspends until the first result; a refusal is thrown to the error boundary. */
  suspense?: boolean;
}

/** A live fetch as a hook; `null` as request follows nothing. */
export function useLive(client: Client, request: MaybeRequest<'count'>, options?: Options):
  Followed<ResultOf<'count'>>;
export function useLive(client: Client, request: MaybeRequest<'ids'>, options?: Options):
  Followed<ResultOf<'ids'>>;
export function useLive<T = Dictionary>(client: Client, request: MaybeRequest<'dictionaries'>,
  options?: Options): Followed<ResultOf<'dictionaries', T>>;
export function useLive<T = Item>(client: Client, request: MaybeRequest<'objects'>, options?: Options):
  Followed<ResultOf<'objects', T>>;
