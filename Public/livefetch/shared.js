// One stream for all pages of a browser: a browser opens at most six HTTP/1.1 connections to a server.
//
// The pages with the same server and credential elect a leader by a Web Lock. The leader follows the
// fetches of all pages on one connection (Hub) and posts to each page what comes for it. A page receives
// it by `source`, which a Feed uses in place of a stream of its own. When the leader closes, the lock
// goes to the next page, and every page follows there from its tokens.

import { Feed } from './feed.js';
import { hex, Pages } from './pages.js';
import { streamMany, timed } from './sources.js';

const PING = 5_000;
/** After so many pings without an answer the browser has suspended the leader. */
const MOST_MISSED = 2;
/** A page that follows nothing leaves, but not while its feed only restarts. */
const IDLE = 50;

export class SharedStream {
  #transport;
  #name;
  #pages = null;
  #hub = null;
  #inbox = null;
  /** The page that leads, as far as this one knows. */
  #leader;
  #turn = 0;
  #missed = 0;
  /** The sources that are open or opening. */
  #sources = 0;
  /** True once the token has been another one at each call: no other page has the same group. */
  #isAlone = false;
  #left = new AbortController();
  #releaseLeadership = () => {};

  constructor(transport) {
    this.#transport = transport;
  }

  /** The events of these subscriptions, from wherever the stream is. */
  async *source(transport, subscriptions, signal) {
    if (this.#isAlone) return yield* streamMany(transport, subscriptions, signal);
    const inbox = new Inbox(signal);
    this.#sources += 1;
    try {
      await this.#join(signal);
      this.#inbox = inbox;
      this.#turn += 1;
      this.#follow(subscriptions);
      for (;;) {
        const event = await inbox.next();
        if (event.kind === 'left' && this.#isAlone) return yield* streamMany(transport, subscriptions, signal);
        if (event.kind === 'left') await this.#join(signal);
        if (event.kind === 'leader' || event.kind === 'left') this.#follow(subscriptions);
        else yield event;
      }
    } finally {
      if (this.#inbox === inbox) this.#inbox = null;
      this.#sources -= 1;
      setTimeout(() => this.#sources === 0 && this.#leave(), IDLE);
    }
  }

  // MARK: The group

  async #join(signal) {
    const name = await groupName(this.#transport, signal);
    if (this.#pages && name === this.#name) return;
    this.#leave();
    this.#name = name;
    this.#left = new AbortController();
    this.#leader = undefined;
    this.#pages = new Pages(name, (message) => this.#receive(message));
    await this.#pages.ready;
    this.#requestLeadership({ signal: this.#left.signal });
    const timer = setInterval(() => this.#ping(), PING);
    this.#left.signal.addEventListener('abort', () => clearInterval(timer));
  }

  #leave() {
    if (!this.#pages) return;
    this.#toLeader({ kind: 'leave', page: this.#pages.id });
    this.#left.abort();
    this.#stepDown();
    this.#pages.close();
    this.#pages = null;
  }

  /** Resolves when this page has stopped leading; the browser grants the lock to one page. */
  async #requestLeadership(options) {
    const pages = this.#pages;
    const lead = () => new Promise((resolve) => {
      if (this.#pages !== pages) return resolve();
      this.#releaseLeadership = resolve;
      this.#lead();
    });
    try {
      await navigator.locks.request(`${this.#name} leader`, options, lead);
    } catch {
      // The page left before it was granted, or another page has taken it: it looked suspended.
      if (this.#pages !== pages || !this.#hub) return;
      this.#stepDown();
      this.#leader = undefined;
      this.#requestLeadership({ signal: this.#left.signal });
      this.#inbox?.put({ kind: 'leader' });
    }
  }

  #lead() {
    const pages = this.#pages;
    const send = (message) => {
      if (message.page === pages.id) this.#take({ ...message, leader: pages.id });
      else pages.post({ ...message, leader: pages.id });
    };
    this.#hub = new Hub(this.#transport, pages, send, (...args) => this.#stream(...args));
    pages.post({ kind: 'leader', leader: pages.id });
    this.#take({ kind: 'leader', leader: pages.id });
  }

  /** The stream of the group; a page whose credential has changed leaves for another group. */
  async *#stream(transport, subscriptions, signal) {
    const name = await groupName(transport, signal);
    if (name === this.#name) return yield* streamMany(transport, subscriptions, signal);
    this.#isAlone = name !== await groupName(transport, signal);
    this.#leave();
    this.#inbox?.put({ kind: 'left' });
  }

  #stepDown() {
    this.#hub?.close();
    this.#hub = null;
    this.#releaseLeadership();
  }

  #ping() {
    if (this.#hub) return;
    this.#missed += 1;
    if (this.#missed > MOST_MISSED) {
      this.#missed = 0;
      this.#requestLeadership({ steal: true });
    } else this.#toLeader({ kind: 'ping', page: this.#pages.id });
  }

  // MARK: Messages

  #follow(subscriptions) {
    const fetches = subscriptions.map(({ name, wire, resumeToken }) => ({ name, wire, since: resumeToken }));
    const { id } = this.#pages;
    this.#toLeader({ kind: 'follow', page: id, leader: this.#leader, turn: this.#turn, fetches });
  }

  #toLeader(message) {
    if (this.#hub) this.#hub.receive(message);
    else this.#pages.post(message);
  }

  #receive(message) {
    if (message.kind === 'leader') this.#take(message);
    else if (this.#hub) this.#hub.receive(message);
    else if (message.page === this.#pages?.id) this.#take(message);
  }

  /** Takes what the leader posts, but not what it posted before this page restarted its feed. */
  #take({ kind, leader, turn, event }) {
    if (kind === 'leader') this.#leader = leader;
    this.#leader ??= leader;
    if (leader !== this.#leader) return;
    this.#missed = 0;
    if (kind === 'leader') this.#inbox?.put({ kind });
    if (kind === 'event' && turn === this.#turn) this.#inbox?.put(event);
  }
}

/** The fetches of all pages on one connection, in the page that leads. */
class Hub {
  #feed;
  #pages;
  #send;
  /** By page: its turn, and its subscriptions by their names. */
  #followers = new Map();

  constructor(transport, pages, send, stream) {
    this.#pages = pages;
    this.#send = send;
    this.#feed = new Feed(transport, { isMany: true, hiddenAfter: false, stream,
      onRefused: (error, subscriptions) => this.#refused(error, subscriptions) });
  }

  receive({ kind, page, leader, turn, fetches }) {
    if (leader && leader !== this.#pages.id) return;
    if (kind === 'follow') this.#follow(page, turn, fetches);
    if (kind === 'leave') this.#drop(page);
    // A page that is not known follows after the leader's message: its own was lost.
    if (kind === 'ping') this.#send({ kind: this.#followers.has(page) ? 'pong' : 'leader', page });
  }

  close() {
    for (const page of [...this.#followers.keys()]) this.#drop(page);
  }

  /** Replaces the fetches that a page follows; a subscription that continues from the same token stays. */
  #follow(page, turn, fetches) {
    const follower = this.#followers.get(page) ?? this.#add(page);
    follower.turn = turn;
    const before = follower.subscriptions;
    const isKept = ({ name, since }) => before.has(name) && before.get(name).resumeToken === since;
    follower.subscriptions = new Map(fetches.map((fetch) =>
      [fetch.name, isKept(fetch) ? before.get(fetch.name) : this.#subscription(page, fetch)]));
    for (const [name, subscription] of before) {
      if (follower.subscriptions.get(name) !== subscription) this.#feed.remove(subscription);
    }
    for (const [name, subscription] of follower.subscriptions) {
      if (before.get(name) !== subscription) this.#feed.add(subscription);
      else subscription.repeat();
    }
  }

  #add(page) {
    const gone = new AbortController();
    const follower = { turn: 0, subscriptions: new Map(), gone };
    this.#followers.set(page, follower);
    this.#pages.closed(page, gone.signal).then(() => this.#drop(page), () => {});
    return follower;
  }

  #drop(page) {
    const follower = this.#followers.get(page);
    if (!follower) return;
    this.#followers.delete(page);
    follower.gone.abort();
    for (const subscription of follower.subscriptions.values()) this.#feed.remove(subscription);
  }

  #subscription(page, { name, wire, since }) {
    const post = (event) => {
      const { turn } = this.#followers.get(page) ?? {};
      this.#send({ kind: 'event', page, turn, event: { name, ...event } });
    };
    return new RemoteSubscription(`${page} ${name}`, wire, since, post);
  }

  /** The fetch that is to blame fails alone; where none is named, each page tries its own way. */
  #refused(error, subscriptions) {
    const blamed = subscriptions.filter(({ name }) => name === error.problem.fetch);
    for (const subscription of blamed.length > 0 ? blamed : subscriptions) {
      this.#feed.remove(subscription);
      subscription.refuse(error, blamed.length > 0);
    }
    return true;
  }
}

/** A fetch of a page, as the leader's feed sees it: what comes is posted to the page. */
class RemoteSubscription {
  isClosed = false;
  isConnected = false;
  /** True while `resumeToken` is that of the server's newest result. */
  #isCurrent = false;
  #post;

  constructor(name, wire, resumeToken, post) {
    Object.assign(this, { name, wire, resumeToken });
    this.#post = post;
  }

  connected() {
    this.isConnected = true;
    this.#post({ kind: 'open' });
  }

  /** Posts its state to a page that has restarted its feed. */
  repeat() {
    if (this.isConnected) this.connected();
    if (this.#isCurrent) this.unchanged(this.resumeToken);
  }

  receive({ kind, data, bytes }) {
    this.#isCurrent = true;
    this.resumeToken = data.to ?? data.token;
    this.#post({ kind, data, bytes });
  }

  unchanged(token) {
    this.#isCurrent = true;
    this.resumeToken = token;
    this.#post({ kind: 'token', data: token });
  }

  lost(error) {
    this.isConnected = false;
    this.#isCurrent = false;
    this.#post({ kind: 'lost', data: error && problemOf(error) });
  }

  forget() {
    this.#isCurrent = false;
    this.resumeToken = undefined;
  }

  fail(error) {
    this.refuse(error, true);
  }

  refuse(error, isAlone) {
    this.#post({ kind: 'error', data: problemOf(error), ...(isAlone ? {} : { name: undefined }) });
  }
}

const problemOf = ({ problem, message, retryAfter, status }) =>
  ({ code: 'unknown', detail: message, ...problem, status, retryAfter });

/** Events that wait for their reader. */
class Inbox {
  #events = [];
  #wake = () => {};
  #signal;

  constructor(signal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake());
  }

  put(event) {
    this.#events.push(event);
    this.#wake();
  }

  async next() {
    while (this.#events.length === 0 && !this.#signal.aborted) {
      await new Promise((resolve) => { this.#wake = resolve; });
    }
    if (this.#signal.aborted) throw this.#signal.reason;
    return this.#events.shift();
  }
}

/** Pages share a stream if they send the same headers to the same server. */
async function groupName(transport, signal) {
  const credentials = await timed(signal, (watched) => transport.credentials(watched.signal));
  const headers = JSON.stringify([transport.base, credentials]);
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(headers));
  return `livefetch live ${hex(new Uint8Array(hash))}`;
}
