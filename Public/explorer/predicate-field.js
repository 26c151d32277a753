// The predicate field: colours under the text, completion at the caret, the server's objection
// where it stands.

import { h, replace, sentence } from './dom.js';
import { complete } from './completion.js';
import { indexOfByte, tokens } from './predicate-language.js';
import { isTooSlow, slowAdvice, tryAgain } from './notes.js';
import { isSearch, mayBeWords } from './search-words.js';

const parameters = { sort: 'order', section: 'sections' };

export class PredicateField {
  #box;
  #text;
  #colours;
  #error;
  #list;
  #options = { items: [], start: 0, chosen: 0 };
  #problem = null;
  #label = h('label', { for: 'where' }, 'where');
  #context;
  #onChange;

  /** @param context gives `{schema, entity, values}`. */
  constructor(parent, { context, onChange }) {
    this.#context = context;
    this.#onChange = onChange;
    this.#text = h('textarea', {
      id: 'where', rows: 1, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
      placeholder: 'search, or a predicate', 'aria-haspopup': 'listbox',
      'aria-controls': 'completions', 'aria-autocomplete': 'list', 'aria-describedby': 'where-error',
      oninput: () => this.#typed(), onkeydown: (event) => this.#key(event),
      onblur: () => this.#close(), onclick: () => this.#close() });
    this.#colours = h('pre', { 'aria-hidden': 'true' });
    this.#box = h('div', { class: 'predicate-box' },
      this.#colours, this.#text, this.#label);
    this.#list = h('ul', { class: 'completions', id: 'completions', role: 'listbox', hidden: true });
    this.#error = h('p', { class: 'predicate-error', id: 'where-error', role: 'alert', hidden: true });
    replace(parent, this.#box, this.#error, this.#list);
  }

  get value() {
    return this.#text.value;
  }

  set value(text) {
    this.#text.value = text;
    this.#close();
    this.#paint();
  }

  focus() {
    this.#text.focus();
    this.#text.select();
  }

  /** Puts text where the caret is, for a click on a name. */
  insert(text) {
    const { selectionStart: start, selectionEnd: end, value } = this.#text;
    const gap = start > 0 && !/[\s(]$/.test(value.slice(0, start)) ? ' ' : '';
    this.#text.setRangeText(gap + text, start, end, 'end');
    this.#text.focus();
    this.#typed();
  }

  /**
   * Shows what the server objects to; null when it does not.
   *
   * @param options `again()` sends the request again; `remove(name)` removes a parameter of it.
   */
  objection(problem, { again, remove } = {}) {
    this.#problem = problem;
    this.#error.hidden = !problem;
    // A predicate that is still being typed is not finished rather than wrong.
    const isUnfinished = problem?.problem.found === 'the end' && document.activeElement === this.#text;
    this.isUnfinished = isUnfinished;
    const isSlow = problem !== null && isTooSlow(problem);
    const parameter = /^`(sort|section|limit|offset)`/.exec(problem?.message)?.[1];
    this.#box.classList.toggle('has-error', !!problem && !isUnfinished && !isSlow && !parameter);
    this.#error.classList.toggle('is-unfinished', isUnfinished);
    if (problem) replace(this.#error, this.#sentence(problem), this.#remedy(problem),
      isSlow && tryAgain(again), parameter && this.#remover(parameter, remove),
      problem.offset !== undefined && mayBeWords(this.value, isUnfinished) && this.#searchButton());
    this.#paint();
  }

  /** The problem for people: its place is shown by the caret, its hint by the button. */
  #sentence({ code, message, problem, hint }) {
    if (isTooSlow({ code })) return h('span', {}, `${message} ${slowAdvice}.`);
    const { found, expected } = problem;
    const text = expected === 'the end' && found ? `Unexpected ${found}`
      : expected ? `Expected ${expected}${found ? `, found ${found}` : ''}`
      : message.replace(/^`where`:? (at \d+: )?/, '');
    const isAdvice = / /.test(hint ?? '');
    const whole = !hint || (expected && !isAdvice) ? text
      : `${text.replace(/\.$/, '')}; ${isAdvice ? hint : `did you mean \`${hint}\`?`}`;
    return h('span', {}, sentence(whole));
  }

  /** Completes again after requested values have arrived. */
  resuggest() {
    if (document.activeElement === this.#text && !this.#hasChosen) this.#suggest();
  }

  get #hasChosen() {
    return this.#options.items.length > 0 && this.#options.chosen >= 0;
  }

  /** True if the typed text may become the name of a column. */
  get isCompleting() {
    return this.#options.items.length > 0;
  }

  /** The problem may be that of another parameter, in a link or after a column was dropped. */
  #remover(name, remove) {
    return h('button', { class: 'text-button remover', type: 'button', onclick: () => remove(name) },
      `Remove the ${parameters[name] ?? name}`);
  }

  #searchButton() {
    const search = () => {
      this.value = `"${this.value.replaceAll('"', '')}"`;
      this.#text.focus();
      this.#onChange(this.value, true);
    };
    return h('button', { class: 'text-button search', onclick: search }, 'Search for these words');
  }

  #remedy({ hint, problem, offset }) {
    // A hint is a bare name, or else a sentence that nothing can be replaced by.
    const word = / /.test(hint ?? '') ? undefined : hint;
    const found = (problem.found ?? '').replace(/^`|`$/g, '');
    if (!word || !found) return null;
    const fix = () => {
      const start = indexOfByte(this.value, offset);
      const at = this.value.indexOf(found, start);
      if (at >= 0) this.#text.setRangeText(word, at, at + found.length, 'end');
      this.#text.focus();
      this.#typed();
    };
    return h('button', { class: 'text-button hint', onclick: fix }, `Use ${word}`);
  }

  // MARK: Colours

  #paint() {
    const text = this.value;
    const isWords = isSearch(text);
    this.#label.textContent = isWords ? 'search' : 'where';
    if (isWords) return replace(this.#colours, text, '\u200b');
    const wrong = this.#problem?.offset === undefined ? -1 : indexOfByte(text, this.#problem.offset);
    const parts = tokens(text).map((token) => this.#part(token, wrong));
    const isPastEnd = wrong >= text.length && this.#box.classList.contains('has-error');
    if (isPastEnd) parts.push(h('span', { class: 't-here' }, '\u200b'));
    // A line that ends in a break needs something to stand on.
    return replace(this.#colours, parts, '\u200b');
  }

  #part({ kind, text, start }, wrong) {
    const isWrong = wrong >= start && wrong < start + text.length
      && this.#box.classList.contains('has-error');
    const names = [kind === 'space' ? '' : `t-${kind}`, isWrong && 't-wrong', isWrong && 't-here'];
    return h('span', { class: names.filter(Boolean).join(' ') || null }, text);
  }

  // MARK: Typing

  #typed() {
    if (this.#problem) this.objection(null);
    this.#paint();
    this.#suggest();
    this.#onChange(this.value, false);
  }

  #key(event) {
    if (event.isComposing) return;
    const isListed = this.#options.items.length > 0;
    const { key, shiftKey } = event;
    if (key === ' ' && (event.ctrlKey || event.metaKey)) this.#suggest();
    else if (isListed && (key === 'ArrowDown' || key === 'ArrowUp')) {
      this.#choose(this.#options.chosen + (key === 'ArrowDown' ? 1 : -1));
    } else if (isListed && ((key === 'Tab' && !shiftKey) || (key === 'Enter' && this.#options.chosen >= 0))) {
      this.#accept(Math.max(0, this.#options.chosen));
    } else if (key === 'Enter' && !event.shiftKey) {
      this.#close();
      this.#onChange(this.value, true);
    } else if (key === 'Escape' && isListed) this.#close();
    else return;
    event.preventDefault();
  }

  // MARK: Completion

  #suggest() {
    const { start, items } = complete(this.value, this.#text.selectionStart, this.#context());
    // Nothing is chosen beforehand: Enter runs what is written.
    this.#options = { start, items, chosen: -1 };
    if (items.length === 0) return this.#close();
    replace(this.#list, items.map(({ insert, about }, index) => h('li', {
      role: 'option', id: `completion-${index}`, 'aria-selected': 'false',
      onpointerdown: (event) => event.preventDefault(), onclick: () => this.#accept(index) },
    h('span', { class: 'insert' }, insert.trim()), h('span', { class: 'about' }, about))));
    this.#list.hidden = false;
    this.#place(start);
  }

  #choose(index) {
    const count = this.#options.items.length;
    const chosen = (index + count) % count;
    this.#list.children[this.#options.chosen]?.setAttribute('aria-selected', 'false');
    this.#options.chosen = chosen;
    this.#list.children[chosen].setAttribute('aria-selected', 'true');
    this.#list.children[chosen].scrollIntoView({ block: 'nearest' });
    this.#text.setAttribute('aria-activedescendant', `completion-${chosen}`);
  }

  #accept(index) {
    const { start, items } = this.#options;
    const { insert } = items[index];
    this.#text.setRangeText(insert, start, this.#text.selectionStart, 'end');
    this.#close();
    this.#typed();
  }

  #close() {
    this.#options = { items: [], start: 0, chosen: -1 };
    this.#list.hidden = true;
    this.#text.removeAttribute('aria-activedescendant');
  }

  /** Below the character at `index`, as the colours underneath show it. */
  #place(index) {
    const range = document.createRange();
    const walker = document.createTreeWalker(this.#colours, NodeFilter.SHOW_TEXT);
    let rest = index;
    let node = walker.nextNode();
    while (node && rest > node.length) {
      rest -= node.length;
      node = walker.nextNode() ?? node;
    }
    range.setStart(node, Math.min(rest, node.length));
    const place = range.getBoundingClientRect();
    const home = this.#box.getBoundingClientRect();
    const left = Math.min(place.left - home.left - 12, home.width - 280);
    this.#list.style.left = `${Math.max(0, left)}px`;
    this.#list.style.top = `${place.bottom - home.top + 6}px`;
  }
}
