/* @ts-self-types="./event-target.d.ts" */
// For pages without a framework: a live fetch as an EventTarget.

import { Follower, idle } from './watch.js';

/** A live fetch with `data`, `state` and `error`, and a `change` event whenever one of them changes. */
export class LiveTarget extends EventTarget {
  #shown = idle;
  #follower;
  #request;

  constructor(client, request) {
    super();
    this.#follower = new Follower(client, (value) => {
      this.#shown = value;
      this.dispatchEvent(new Event('change'));
    });
    this.request = request;
  }

  get data() {
    return this.#shown.data;
  }

  get state() {
    return this.#shown.state;
  }

  get error() {
    return this.#shown.error;
  }

  get request() {
    return this.#request;
  }

  /** Follows another request; `data` stays until its first result. */
  set request(value) {
    this.#request = value;
    this.#follower.follow(value);
  }

  close() {
    this.#follower.close();
  }
}
