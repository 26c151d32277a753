/* @ts-self-types="./solid.d.ts" */
// Solid binding: shows a live fetch as an object with reactive properties.

import { createEffect, createSignal, onCleanup, untrack } from 'solid-js';
import { Follower, initial } from './watch.js';

/**
 * Returns `{data, state, error}` of a live fetch. Read the properties from the object (`cities.data`), so that they stay
 * reactive. The request may be a function: when the request that it returns changes, `data` stays until the first
 * result of the new request.
 */
export function createLive(client, request) {
  const read = () => (typeof request === 'function' ? request() : request);
  const [shown, show] = createSignal(initial(untrack(read)));
  const follower = new Follower(client, (value) => show(() => value));
  createEffect(() => follower.follow(read()));
  onCleanup(() => follower.close());
  return {
    get data() { return shown().data; },
    get state() { return shown().state; },
    get error() { return shown().error; },
  };
}
