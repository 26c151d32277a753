// A server that answers by a script: what a real one does only when something goes wrong.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';

export const json = (response, value, status = 200) => {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
};

/** Answers the requests of a path by the steps given, the last one again and again. */
export async function served(context, script) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url, 'http://server');
    const ask = { path: url.pathname, query: Object.fromEntries(url.searchParams), headers: request.headers,
      body: chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : null,
      isStream: request.headers.accept === 'text/event-stream' };
    const steps = script[url.pathname] ?? [];
    const number = asked.filter(({ path }) => path === url.pathname).length;
    asked.push(ask);
    const step = steps[Math.min(number, steps.length - 1)];
    if (step) step(response, ask);
    else json(response, { code: 'unknown-path', title: 'Not found' }, 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => { server.closeAllConnections(); server.close(); });
  return { address: `http://127.0.0.1:${server.address().port}`, asked };
}

export async function until(condition) {
  for (let tries = 0; tries < 2000 && !(await condition()); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(await condition(), 'it did not come to that');
}
