import type { Client, Item, Result, Shape } from '../livefetch.js';
import type { Followed, MaybeRequest, ResultOf } from './frameworks.js';

/** A live fetch with a `change` event whenever `data`, `state` or `error` changes. */
export class LiveTarget<S extends Shape = 'objects', T = Item> extends EventTarget
  implements Followed<ResultOf<S, T>> {
  constructor(client: Client, request?: MaybeRequest<S>);
  readonly data: Followed<ResultOf<S, T>>['data'];
  readonly state: Followed<Result>['state'];
  readonly error: Followed<Result>['error'];
  /** Assign another one to follow it. */
  request: MaybeRequest<S>;
  close(): void;
}
