// Types of all adapters for frameworks.

import type { CountResult, FetchRequest, ID, Item, LiveFetchError, Result, Shape, Shown, State }
  from '../livefetch.js';

/** The state of a live fetch that a component shows. */
export interface Followed<R> {
  /** Null before the first result. While another request connects, the result of the request before. */
  readonly data: Shown<R> | null;
  /** `idle`: there is no request. */
  readonly state: State | 'idle';
  readonly error: LiveFetchError | null;
}

/** The result of a request by its shape; `T` is the type of objects and dictionaries. */
export type ResultOf<S extends Shape, T = Item> =
  S extends 'count' ? CountResult : S extends 'ids' ? Result<ID> : Result<T>;

/** A request; nothing where nothing is to be followed. */
export type MaybeRequest<S extends Shape> = FetchRequest<S> | null | undefined;
