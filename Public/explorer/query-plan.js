// The plan of the request: the SQL, the database's plan, and an index that would help. Requested when the
// user presses Explain; servers allow it with `--explain`.

import { h, replace } from './dom.js';
import { stringify } from './json.js';

const refusals = {
  'explain-disabled': ['The server was started without ', h('code', {}, '--explain'), '.'],
  forbidden: ['The token needs the scope ', h('code', {}, 'admin'), '.'] };

export class QueryPlan {
  #client;
  #codeBlock;
  #request = null;
  /** The JSON of the request. */
  #signature;
  element = h('div', {});

  /** @param codeBlock returns an element with a text that can be copied. */
  constructor(client, codeBlock) {
    this.#client = client;
    this.#codeBlock = codeBlock;
  }

  /** Shows the button that requests the plan, unless the request is the same. */
  show(request) {
    const signature = stringify(request);
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.#request = request;
    replace(this.element, h('button', { class: 'button small', type: 'button', onclick: () => this.#ask() }, 'Explain'));
  }

  async #ask() {
    const request = this.#request;
    try {
      const { statements } = await this.#client.fetch({ ...request, explain: true });
      if (request === this.#request) replace(this.element, statements.map((statement) => this.#statement(statement)));
    } catch (error) {
      if (request !== this.#request) return;
      replace(this.element, h('p', { class: 'quiet', role: 'status' }, refusals[error.code] ?? error.message));
    }
  }

  #statement({ for: purpose, sql, types = [], plan = [], hints = [] }) {
    return h('div', { class: 'statement' }, h('p', { class: 'statement-name' }, purpose),
      h('pre', { class: 'code', tabindex: 0, 'aria-label': `SQL for ${purpose}` }, sql),
      types.length > 0 && h('p', { class: 'quiet' }, `bound: ${types.join(', ')}`),
      h('ul', { class: 'plan' }, plan.map(({ detail }) => h('li', {}, detail))),
      hints.map(({ index, reason }) => [
        h('p', { class: 'plan-hint' }, 'An index would help: ', reason.replaceAll('`', '')), this.#codeBlock(index)]));
  }
}
