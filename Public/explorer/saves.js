// The store's change feed: the number of saves, by any program.

const WAIT = 25;
const RETRY = 1000;

/**
 * Calls `onSaves(count)` for every answer that names some, while the page is seen: a browser has
 * six connections to a server, and a hidden page leaves this one to others. Calls `onReset()` after
 * the tables may have changed, with the answer of `GET /v1` and whether it is still the same store
 * by the server's word, and awaits `onUnauthorized()` after the token has ended. Ends where
 * the server has no history.
 */
export async function watchSaves(client, token, { onSaves, onReset, onUnauthorized }) {
  let since = token;
  for (;;) {
    const { signal, end } = await whileSeen();
    try {
      const path = `/v1/changes?since=${encodeURIComponent(since)}&wait=${WAIT}`;
      const { data } = await client.transport.json({ path, signal });
      since = data.to;
      if (data.saves.length > 0) onSaves(data.saves.length);
    } catch (error) {
      if (error.status === 401) {
        await onUnauthorized();
        continue;
      }
      if (error.status !== 410 && error.isTransient === false) return;
      since = (error.status === 410 && await newestToken(client, onReset, error.code === 'schema-changed')) || since;
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, Math.max(RETRY, 1000 * (error.retryAfter ?? 0))));
    } finally {
      end();
    }
  }
}

/** Reads the token before `onReset` reads the model: a change after that is noticed again. */
async function newestToken(client, onReset, isSchemaChange) {
  try {
    const about = await client.about();
    await onReset(about, isSchemaChange);
    return about.token;
  } catch {
    return null;
  }
}

/** Resolves when the page is seen, to a signal that is aborted when it no longer is. */
async function whileSeen() {
  const isHidden = () => document.visibilityState === 'hidden';
  const change = () => new Promise((resolve) =>
    document.addEventListener('visibilitychange', resolve, { once: true }));
  while (isHidden()) await change();
  const controller = new AbortController();
  const check = () => isHidden() && controller.abort();
  document.addEventListener('visibilitychange', check);
  const end = () => document.removeEventListener('visibilitychange', check);
  return { signal: controller.signal, end };
}
