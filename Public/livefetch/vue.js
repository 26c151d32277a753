/* @ts-self-types="./vue.d.ts" */
// For Vue 3: a live fetch as refs.

import { onScopeDispose, shallowRef, toValue, watchPostEffect } from 'vue';
import { Follower, initial } from './watch.js';

/**
 * `{data, state, error}`, each a ref, of a live fetch. The request may be a ref or a function: when it
 * changes, `data` stays until the first result of the new request.
 */
export function useLive(client, request) {
  const first = initial(toValue(request));
  const [data, state, error] = [shallowRef(first.data), shallowRef(first.state), shallowRef(first.error)];
  const follower = new Follower(client, (shown) => {
    data.value = shown.data;
    state.value = shown.state;
    error.value = shown.error;
  });
  // After the component is mounted: nothing is followed while a server renders the page.
  watchPostEffect(() => follower.follow(toValue(request)));
  onScopeDispose(() => follower.close());
  return { data, state, error };
}
