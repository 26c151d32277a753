// A proxy that adds the strictest policy to every answer, as a careful administrator's would.

import { createServer, request } from 'node:http';

export const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Resolves to `{address, end()}`. */
export function withPolicy(target) {
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const forward = request(target + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, { ...answer.headers, 'Content-Security-Policy': policy });
      answer.pipe(outgoing);
    });
    forward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forward.destroy());
    incoming.pipe(forward);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({
    address: `http://127.0.0.1:${server.address().port}`,
    end: () => { server.closeAllConnections(); server.close(); } })));
}
