/* @ts-self-types="./react.d.ts" */
// For React 18 and later: a live fetch as a hook.

import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { stringify } from './json.js';
import { keepData, watch } from './watch.js';

/**
 * `{data, state, error}` of a live fetch. While another request is connecting, `data` stays that of the
 * request before; `null` as request follows nothing.
 */
export function useLive(client, request, { suspense = false } = {}) {
  const key = stringify(request ?? null);
  const watched = useMemo(() => watch(client, request), [client, key]);
  const value = useSyncExternalStore(watched.subscribe, watched.read, watched.read);
  const before = useRef(null);
  const shown = useMemo(() => keepData(before.current, request, value), [key, value]);
  useEffect(() => { before.current = { request, data: shown.data }; });
  if (suspense && shown.data === null) {
    if (shown.state === 'failed') throw shown.error;
    if (shown.state !== 'idle') throw watched.ready;
  }
  return shown;
}
