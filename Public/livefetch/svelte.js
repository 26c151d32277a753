/* @ts-self-types="./svelte.d.ts" */
// For Svelte 3 and later: a live fetch as a store.

import { call } from './transport.js';
import { Follower, idle } from './watch.js';

/**
 * A store of `{data, state, error}`, which follows while it has subscribers. The request may be a store: when
 * it changes, `data` stays until the first result of the new request.
 */
export function liveStore(client, request) {
  const subscribers = new Set();
  let shown = idle;
  let close;
  const open = () => {
    const follower = new Follower(client, (value) => {
      shown = value;
      for (const { next } of [...subscribers]) call(next, value);
    });
    const stop = request?.subscribe?.((value) => follower.follow(value)) ?? follower.follow(request);
    return () => {
      if (typeof stop === 'function') stop();
      else stop?.unsubscribe?.();
      follower.close();
    };
  };
  return { subscribe(next) {
    const run = { next };
    if (subscribers.size === 0) close = open();
    next(shown);
    subscribers.add(run);
    return () => {
      if (subscribers.delete(run) && subscribers.size === 0) close();
    };
  } };
}
