import type { MaybeRefOrGetter, ShallowRef } from 'vue';
import type { Client, Dictionary, Item } from '../livefetch.js';
import type { Followed, MaybeRequest, ResultOf } from './frameworks.js';

export type Refs<R> = { [Key in keyof Followed<R>]: Readonly<ShallowRef<Followed<R>[Key]>> };

/** A live fetch as refs; the request may be a ref or a function, and null. */
export function useLive(client: Client, request: MaybeRefOrGetter<MaybeRequest<'count'>>):
  Refs<ResultOf<'count'>>;
export function useLive(client: Client, request: MaybeRefOrGetter<MaybeRequest<'ids'>>):
  Refs<ResultOf<'ids'>>;
export function useLive<T = Dictionary>(client: Client,
  request: MaybeRefOrGetter<MaybeRequest<'dictionaries'>>): Refs<ResultOf<'dictionaries', T>>;
export function useLive<T = Item>(client: Client, request: MaybeRefOrGetter<MaybeRequest<'objects'>>):
  Refs<ResultOf<'objects', T>>;
