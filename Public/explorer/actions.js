// The buttons at the end of the line above the result, and the note for the first visit.

import { h, replace } from './dom.js';

const seen = 'livefetch-welcome';

const icons = {
  play: h('path', { class: 'filled', d: 'M5 3.2v9.6l7.6-4.8z' }),
  stop: h('path', { class: 'filled', d: 'M4.5 4.5h7v7h-7z' }),
  second: h('path', { d: 'M2.5 3.5h11v9h-11zM8.5 3.5v9' }),
  groups: h('path', { d: 'M3 13V8M6.5 13V4M10 13V6.5M13.5 13V10' }),
  columns: h('path', { d: 'M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9' }),
  export: h('path', { d: 'M8 2.5v7.5M5 7l3 3 3-3M3 13h10' }),
  import: h('path', { d: 'M8 10.5V3M5 6l3-3 3 3M3 13h10' }),
  minus: h('path', { d: 'M3.5 8h9' }),
  plus: h('path', { d: 'M8 3.5v9M3.5 8h9' }) };

/** A button with a drawing; `short` is its text where there is little room. */
export function action(icon, text, short, onclick, { isPressed, isPrimary } = {}) {
  return h('button', {
    class: `action${isPrimary ? ' is-primary' : ''}`, onclick, 'aria-label': text,
    'aria-pressed': isPressed === undefined ? null : String(isPressed) },
  h('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, icons[icon].cloneNode()),
  h('span', { class: 'long' }, text), h('span', { class: 'short' }, short));
}

const isSeen = () => {
  try { return localStorage.getItem(seen) !== null; } catch { return false; }
};

/** The first minute: why this table is another one than people know, and two ways to see it. */
export class Welcome {
  #parent;
  #isClosed = isSeen();
  onClose = () => {};

  constructor(parent) {
    this.#parent = parent;
  }

  /** Shows itself with `buttons`, but not where there are none; returns whether it does. */
  show(buttons) {
    this.#parent.hidden = this.#isClosed || !buttons;
    if (this.#parent.hidden) return false;
    replace(this.#parent,
      h('p', {}, h('strong', {}, 'This table is live. '),
        'Whatever anybody saves, here, in another window, by curl or by any other program, arrives '
        + 'as the smallest diff, and the rows move.'),
      h('span', { class: 'welcome-actions' }, buttons),
      h('button', { class: 'icon-button', 'aria-label': 'Close this note',
        onclick: () => { this.close(); this.onClose(); } }, '×'));
    return true;
  }

  close() {
    this.#isClosed = true;
    this.#parent.hidden = true;
    replace(this.#parent);
    try { localStorage.setItem(seen, 'seen'); } catch { /* private windows may refuse */ }
  }
}
