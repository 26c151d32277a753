// The store's own feed: how many saves there were, whoever made them.

const WAIT = 25;

/** Calls `onSaves(count)` for every answer that names some; ends where the server has no history. */
export async function watchSaves(client, token, onSaves) {
  let since = token;
  for (;;) {
    try {
      const path = `/v1/changes?since=${encodeURIComponent(since)}&wait=${WAIT}`;
      const { data } = await client.transport.json({ path });
      since = data.to;
      if (data.saves.length > 0) onSaves(data.saves.length);
    } catch (error) {
      if (error.status >= 400 && error.status < 500 && error.status !== 410) return;
      await new Promise((resolve) => setTimeout(resolve, 3000));
      if (error.status === 410) since = 'now';
    }
  }
}
