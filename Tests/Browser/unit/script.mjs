// A server that answers by a script, as a real one does only when something fails.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';

export const json = (response, value, status = 200) => {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
};

/**
 * Starts a server.
 *
 * @param script for each path the functions `(response, request)` that answer its requests in turn; the last one answers
 * all further ones.
 * @returns the server's address, and `requests`, to which each request is added.
 */
export async function served(context, script) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url, 'http://server');
    const received = { path: url.pathname, query: Object.fromEntries(url.searchParams), headers: request.headers,
      body: chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : null,
      isStream: request.headers.accept === 'text/event-stream' };
    const steps = script[url.pathname] ?? [];
    const number = requests.filter(({ path }) => path === url.pathname).length;
    requests.push(received);
    const step = steps[Math.min(number, steps.length - 1)];
    if (step) step(response, received);
    else json(response, { code: 'unknown-path', title: 'Not found' }, 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => { server.closeAllConnections(); server.close(); });
  return { address: `http://127.0.0.1:${server.address().port}`, requests };
}

/** Waits until `condition` returns true. */
export async function until(condition) {
  for (let tries = 0; tries < 2000 && !(await condition()); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(await condition(), 'the condition was not fulfilled in ten seconds');
}
