// Requests of the API → answers as JSON, refusals as LiveFetchError. The only file that calls
// fetch().

import { parse, plainInteger, stringify } from './json.js';
import { asGiven } from './pending.js';

const encoder = new TextEncoder();
/** Longer targets go as POST: proxies cut at 8 KB, some earlier. */
const LONGEST_TARGET = 2000;

/** A refusal of the server (its problem object), or a server that cannot be reached. */
export class LiveFetchError extends Error {
  constructor(problem, options) {
    super(withoutName(problem.detail) || problem.title || problem.code || `HTTP ${problem.status ?? 0}`, options);
    this.name = 'LiveFetchError';
    /** The HTTP status; 0 where there was no answer. */
    this.status = problem.status ?? 0;
    /**
     * Stable, in kebab-case; with status 0 `unreachable`, `not-an-answer`, `token-failed` or `failed`, of saves with
     * `offline` also `outcome-unknown`, `storage-damaged` and `client-closed`.
     */
    this.code = problem.code ?? 'unknown';
    /** The server's sentence, which is the message too. */
    this.detail = this.message;
    /** The byte of a predicate at which it went wrong. */
    this.offset = problem.offset;
    this.hint = problem.hint;
    /** Every failure of a save: `{change, property, code, detail, stored, given}`. */
    this.errors = Array.isArray(problem.errors) ? problem.errors : [];
    this.problem = problem;
    /** Seconds that the server asks to wait. */
    this.retryAfter = problem.retryAfter;
  }

  /** True if the same request may succeed later. */
  get isTransient() {
    return this.status === 0 || this.status === 429 || this.status >= 500 && this.status !== 501;
  }
}

/** The error as a LiveFetchError; one of another class gets the code `failed`. */
export function asLiveFetchError(cause) {
  if (cause instanceof LiveFetchError) return cause;
  return new LiveFetchError({ status: 0, code: 'failed', detail: cause?.message ?? String(cause) }, { cause });
}

/** True for an error that another attempt at the same fetch would only repeat. */
export const isAnswer = ({ isTransient, code }) => !isTransient || code === 'query-timeout';

/** Calls a handler of the application, if there is one. What it throws is the application's, and goes to the console. */
export function call(handler, ...args) {
  try {
    handler?.(...args);
  } catch (error) {
    console.error('livefetch: a handler has thrown:', error);
  }
}

/** Writes a refusal that the application does not handle to the console. */
export function warnOfRefusal(subject, { code, message, hint }) {
  console.warn(`livefetch: ${subject} was refused: ${code}: ${message}${hint ? ` Hint: ${hint}` : ''}`);
}

/** A detail without the name of one fetch of many: the names are the client's own. */
function withoutName(detail) {
  return typeof detail === 'string' ? detail.replace(/^Fetch `[^`]*`: /, '') : undefined;
}

export class Transport {
  /** A text of the server as a value. */
  parse;
  /** The server's time in milliseconds, of its newest response; undefined if that does not show it. */
  servedAt;
  #token;
  #fetch;

  /**
   * @param options `token`: text, or a function that gives one (also asynchronously); `int64`: null where
   * integers that are not exact are wanted as numbers.
   */
  constructor(url, { token, headers = {}, fetch, int64 } = {}) {
    this.parse = int64 === null ? JSON.parse : parse;
    this.base = String(url ?? '').replace(/\/+$/, '');
    this.headers = headers;
    this.#token = token;
    /** How saves request integers beyond ±2^53: as text, or null. */
    this.int64 = int64;
    this.#fetch = fetch ?? ((...args) => globalThis.fetch(...args));
  }

  /**
   * Sends a request and gives the Response; throws LiveFetchError for every refusal. A request whose
   * credential is refused is sent once more if the function that gives the token now gives another one.
   * `onSending` is called when the token is there, before each request; `onRenewing` before the token function is called
   * again.
   */
  async send({ method = 'GET', path, body, headers = {}, signal, onSending, onRenewing }) {
    const init = { method, signal, headers: await this.#headers(headers, body, signal) };
    if (body !== undefined) init.body = stringify(body);
    onSending?.();
    let response = await this.#response(path, init);
    if (response.status === 401 && typeof this.#token === 'function') {
      onRenewing?.();
      const renewed = await this.#headers(headers, body, signal);
      if (renewed.Authorization !== init.headers.Authorization) {
        await response.body?.cancel().catch(() => {});
        onSending?.();
        response = await this.#response(path, { ...init, headers: renewed });
      }
    }
    if (!response.ok) throw await this.#refusal(response);
    return response;
  }

  async #response(path, init) {
    let response;
    try {
      response = await this.#fetch(this.base + path, init);
    } catch (cause) {
      if (init.signal?.aborted) throw init.signal.reason;
      throw unreachable(cause);
    }
    this.servedAt = Date.parse(response.headers?.get('Date')) || undefined;
    return response;
  }

  /** The answer as JSON, with its size on the wire before compression; `onBytes` is called for each part that comes. */
  async json({ onBytes, ...request }) {
    const response = await this.send(request);
    let text;
    try {
      text = await textOf(response, onBytes);
    } catch (cause) {
      if (request.signal?.aborted) throw request.signal.reason;
      throw unreachable(cause);
    }
    const data = text === '' ? null : this.#parsed(text);
    return { data, bytes: byteLength(text), headers: response.headers, status: response.status };
  }

  #parsed(text) {
    try {
      return this.parse(text);
    } catch (cause) {
      throw notAnAnswer('The answer is not JSON: something other than the server has sent it.', cause);
    }
  }

  /** Sends changes as one transaction; ids beyond ±2^53 in the answer are text, as in items. */
  async save(changes, { mergePolicy, idempotencyKey, prefer, int64 = this.int64, signal, onBytes }) {
    const headers = clean({ 'Idempotency-Key': idempotencyKey, Prefer: prefer });
    const body = { changes, ...clean({ mergePolicy }) };
    // Only an answer with objects depends on it.
    const hasObjects = int64 === 'string' && /return=representation/.test(prefer);
    const path = hasObjects ? '/v1/save?int64=string' : '/v1/save';
    const answer = await this.json({ method: 'POST', path, body, headers, signal, onBytes });
    if (typeof answer.data?.token !== 'string') throw notAnAnswer('The answer to the save has no token.');
    for (const [name, id] of Object.entries(answer.data.ids ?? {})) answer.data.ids[name] = plainInteger(id);
    return answer;
  }

  /**
   * The headers that every request has: the application's own, and the bearer token. Throws where one has
   * a character that no header can carry: no server would ever see it.
   */
  async credentials(signal) {
    const token = await this.#currentToken(signal);
    const headers = token ? { ...this.headers, Authorization: `Bearer ${utf8(token)}` } : this.headers;
    try {
      new Headers(headers);
    } catch (cause) {
      throw unsendable(cause);
    }
    return headers;
  }

  async #currentToken(signal) {
    if (typeof this.#token !== 'function') return this.#token;
    signal?.throwIfAborted();
    const isOver = new AbortController();
    try {
      return await (signal ? Promise.race([this.#token(), aborted(signal, isOver.signal)]) : this.#token());
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const detail = `The function that gives the token has failed: ${cause?.message ?? cause}`;
      throw new LiveFetchError({ status: 0, code: 'token-failed', detail }, { cause });
    } finally {
      isOver.abort();
    }
  }

  async #refusal(response) {
    const text = await response.text().catch(() => '');
    let problem;
    try {
      problem = this.parse(text);
    } catch {
      problem = { title: response.statusText || `HTTP ${response.status}`, code: 'no-problem-object' };
    }
    return new LiveFetchError({ ...problem, status: response.status,
      retryAfter: secondsOf(response.headers.get('Retry-After')) });
  }

  async #headers(own, body, signal) {
    const headers = { ...(await this.credentials(signal)), ...own };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    return headers;
  }
}

/** Rejects with the reason when the signal is aborted; `until` ends the wait. */
export function aborted(signal, until) {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: until });
  });
}

async function textOf(response, onBytes) {
  if (!onBytes || !response.body) return response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    onBytes();
    text += decoder.decode(value, { stream: true });
  }
}

/** A text as its bytes in UTF-8: a header takes a character for a byte. */
const utf8 = (text) => Array.from(encoder.encode(text), (byte) => String.fromCharCode(byte)).join('');

/** `Retry-After` is a number of seconds, or a date. */
function secondsOf(text) {
  const seconds = Number(text ?? NaN);
  return Math.max(0, Number.isNaN(seconds) ? (Date.parse(text) - Date.now()) / 1000 : seconds) || undefined;
}

export function byteLength(text) {
  return encoder.encode(text).length;
}

/**
 * The method, path and body of a fetch request: GET where it fits into a target, needs no typed values, and
 * its lists can be joined by commas; else POST.
 */
export function route(request) {
  const { entity, arguments: values, variables, ...rest } = clean(request);
  if (!values && !variables && Object.values(rest).every(isJoinable)) {
    const path = `/v1/objects/${encodeURIComponent(entity)}${query(rest)}`;
    if (path.length <= LONGEST_TARGET) return { method: 'GET', path };
  }
  return { method: 'POST', path: '/v1/fetch', body: clean(request) };
}

/**
 * The request without empty parameters, lists as arrays, arguments and variables as JSON has them. Throws a TypeError for
 * those that JSON does not have.
 */
export function clean(request) {
  const entries = Object.entries(request).filter(([, value]) => isGiven(value));
  return Object.fromEntries(entries.map(([name, value]) => [name, cleaned(name, value)]));
}

function cleaned(name, value) {
  if (name === 'arguments' || name === 'variables') return asGiven(value, name);
  return isList(name, value) ? elements(name, value) : value;
}

/** The elements of a list, as the server splits it: in `select` not at commas within brackets and quotes. */
function elements(name, text) {
  const parts = name === 'select' ? expressions(text) : null;
  return (parts ?? text.split(',')).map((part) => part.replace(/^ +/, ''));
}

/** Null if brackets or quotes are not closed. */
function expressions(text) {
  const parts = [''];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|./gs)) {
    if (token === '"' || token === "'") return null;
    if (token === '(' || token === '{') depth += 1;
    if (token === ')' || token === '}') depth -= 1;
    if (token === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return depth === 0 ? parts : null;
}

const lists = new Set(['sort', 'select', 'expand', 'group']);
const isList = (name, value) => lists.has(name) && typeof value === 'string';

function isGiven(value) {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** A comma or a quotation mark in an element would split it. */
const isJoinable = (value) => !Array.isArray(value) || !value.some((element) => /[,"']/.test(element));

function query(parameters) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    search.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function unsendable(cause) {
  const detail = 'The token or another header contains a character that a header cannot carry.';
  return new LiveFetchError({ status: 401, code: 'unauthorized', title: 'Unauthorized', detail }, { cause });
}

/** Something other than the server has answered: a proxy, or the sign-in page of a network. */
export function notAnAnswer(detail, cause) {
  return new LiveFetchError({ status: 0, code: 'not-an-answer', detail }, { cause });
}

function unreachable(cause) {
  const problem = { status: 0, code: 'unreachable', detail: 'The server cannot be reached.' };
  return new LiveFetchError(problem, { cause });
}
