// Four sources of changes with one interface: each is an async generator of
// `{name, kind, data, bytes}` with kind `open`, `snapshot`, `diff`, `expired`, `error` or `token`: all
// fetches are up to date at the token `data`. With `isAssumed` the server has not sent it.
//
// A stream is preferred; the long-poll is the fallback where a proxy buffers streams. Each exists for
// one fetch and for many on one connection. They end when the server ends them, and throw when the
// network fails; the caller decides whether to reconnect.

import { stringify } from './json.js';
import { byteLength, clean, LiveFetchError, notAnAnswer, route } from './transport.js';
import { events } from './events.js';

/** The server sends a comment every 15 s: after this long the connection is dead. */
export const SILENCE = 40_000;
/** A stream opens with bytes at once: after this long a proxy is buffering them. */
const FIRST_BYTES = 8_000;
/** Seconds that the server may hold a request. Also the time between two events `token`, which cost each fetch some work. */
const WAIT = 25;

/** A proxy buffers the stream; the long-poll may still work. `isSilent`: nothing came, which may be the network too. */
export class StreamBuffered extends Error {
  isSilent = false;
}

/** One fetch as a stream, from `subscription.resumeToken` if there is one. */
export async function* streamOne(transport, [subscription], signal) {
  const since = subscription.resumeToken;
  const request = route({ ...subscription.wire, since });
  for await (const event of stream(transport, request, signal, () => subscription.name)) {
    yield event;
    // The server sends nothing while the result is unchanged.
    if (event.kind === 'open' && since !== undefined) yield { kind: 'token', data: since, isAssumed: true };
  }
}

/** Many fetches as one stream. */
export function streamMany(transport, subscriptions, signal) {
  const request = { method: 'POST', path: '/v1/live', body: { fetches: fetches(subscriptions) } };
  return stream(transport, request, signal, (data) => {
    const { name } = data;
    delete data.name;
    return name;
  });
}

async function* stream(transport, request, signal, nameOf) {
  const watch = new Watch(signal, SILENCE);
  const isDue = everyWait();
  try {
    const headers = { ...request.headers, Accept: 'text/event-stream' };
    const response = await transport.send({ ...request, headers, signal: watch.signal,
      onSending: () => watch.sent(), onRenewing: () => watch.received() });
    const type = response.headers.get('Content-Type') ?? '';
    if (!type.startsWith('text/event-stream') || !response.body) throw new StreamBuffered(type);
    yield { kind: 'open' };
    for await (const { event, data, id } of events(response.body, () => watch.received())) {
      if (data !== '') {
        const parsed = transport.parse(data);
        // The credential has ended. The next connection has the one that the application then gives.
        if (event === 'error' && parsed.status === 401) return;
        yield { name: nameOf(parsed), kind: event, data: parsed, bytes: byteLength(data) };
      }
      if (id && isDue()) yield { kind: 'token', data: id };
    }
  } catch (error) {
    throw watch.explain(error);
  } finally {
    watch.end();
  }
}

/** One fetch by requests that the server holds until the result changes. */
export async function* pollOne(transport, [subscription], signal) {
  const { name, wire } = subscription;
  for (let isFirst = true; ; isFirst = false) {
    const since = subscription.resumeToken;
    const wait = since && isFirst ? 0 : WAIT;
    const request = route(since ? { ...wire, since, wait } : wire);
    const { data, bytes } = await timed(signal, (watched) => transport.json({ ...request, ...watched }));
    if (typeof (data?.to ?? data?.token) !== 'string') throw notAnAnswer('The answer to the fetch has no token.');
    if (isFirst) yield { kind: 'open' };
    yield { name, kind: since ? 'diff' : 'snapshot', data, bytes };
  }
}

/**
 * Many fetches by one such request. An answer may lack some that have no token yet: there was no time
 * for them, and the next request includes them again. One that has failed is not requested again.
 */
export async function* pollMany(transport, subscriptions, signal) {
  const isDue = everyWait();
  let asked = subscriptions;
  for (let isFirst = true; asked.length > 0; isFirst = false) {
    const request = { method: 'POST', path: '/v1/live', body: { fetches: fetches(asked), wait: isFirst ? 0 : WAIT } };
    const { data } = await timed(signal, (watched) => transport.json({ ...request, ...watched }));
    if (!data?.results) throw notAnAnswer('The answer to the fetches has no results.');
    if (isFirst) yield { kind: 'open' };
    for (const [name, result] of Object.entries(data.results)) {
      yield { name, kind: kind(result), data: result, bytes: byteLength(stringify(result)) };
    }
    if (data.token && isDue()) yield { kind: 'token', data: data.token };
    asked = asked.filter(({ name }) => !data.results[name] || kind(data.results[name]) !== 'error');
  }
}

/** A function that returns true at its first call, and then if `WAIT` has passed since it last did. */
function everyWait() {
  let last = -Infinity;
  return () => {
    const isDue = performance.now() - last >= WAIT * 1000;
    if (isDue) last = performance.now();
    return isDue;
  };
}

function kind(result) {
  if (result.entity !== undefined) return result.from === undefined ? 'snapshot' : 'diff';
  // A problem: the fetch has ended, as its table is gone, or it has to begin again.
  return result.status === 410 ? 'expired' : 'error';
}

function fetches(subscriptions) {
  const entries = subscriptions.map(
    ({ name, wire, resumeToken }) => [name, clean({ ...wire, since: resumeToken })]);
  return Object.fromEntries(entries);
}

/**
 * A request without a total time limit: it fails only after `limit` milliseconds without bytes.
 *
 * @param send sends the request with this `{signal, onBytes}`.
 */
export async function timed(signal, send, limit = SILENCE) {
  const watch = new Watch(signal, limit);
  try {
    return await send({ signal: watch.signal, onBytes: () => watch.received() });
  } catch (error) {
    throw watch.explain(error);
  } finally {
    watch.end();
  }
}

/** Aborts a request that has been silent for too long, and gives the reason of its end afterwards. */
class Watch {
  #controller = new AbortController();
  #outer;
  #timer;
  #last = Date.now();
  #hasReceived = false;
  #limit;
  #stop = () => this.#controller.abort(this.#outer.reason);

  constructor(outer = new AbortController().signal, limit) {
    this.#outer = outer;
    this.#limit = limit;
    if (outer.aborted) this.#stop();
    outer.addEventListener('abort', this.#stop, { once: true });
    this.#timer = setInterval(() => this.#check(), 1000);
  }

  get signal() {
    return this.#controller.signal;
  }

  /** A stream is requested: its first bytes are due soon. */
  sent() {
    this.#last = Date.now();
    this.#hasReceived = false;
    this.#limit = FIRST_BYTES;
  }

  received() {
    this.#last = Date.now();
    this.#hasReceived = true;
    this.#limit = SILENCE;
  }

  end() {
    clearInterval(this.#timer);
    this.#outer.removeEventListener('abort', this.#stop);
    this.#controller.abort();
  }

  explain(error) {
    if (this.#outer.aborted) return this.#outer.reason;
    if (error instanceof LiveFetchError || error instanceof StreamBuffered) return error;
    if (this.signal.aborted) return this.signal.reason;
    const problem = { status: 0, code: 'unreachable', detail: 'The connection was lost.' };
    return new LiveFetchError(problem, { cause: error });
  }

  #check() {
    const now = Date.now();
    // The clock was set back.
    if (now < this.#last) this.#last = now;
    if (now - this.#last < this.#limit) return;
    const isBuffered = !this.#hasReceived && this.#limit === FIRST_BYTES;
    const problem = { status: 0, code: 'unreachable', detail: 'The connection went silent.' };
    this.#controller.abort(isBuffered ? Object.assign(new StreamBuffered(), { isSilent: true }) : new LiveFetchError(problem));
  }
}
