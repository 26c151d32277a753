// A small panel next to an element or a point. One panel is open at a time: Escape, a press outside, or
// opening another one closes it.

import { h } from './dom.js';

const GAP = 4;
/** The panel that is open; null for none. */
let open = null;

/**
 * Opens a panel at `anchor`, an element or a point `{x, y}` of the window, and moves the focus into it. Closing
 * the panel moves the focus back, except after a press outside. Returns `{element, close(), place()}`; call
 * `place()` after the size of the content has changed.
 *
 * @param options `label` is the accessible name, `className` a further class; `onClose` is called after
 *   the panel was closed.
 */
export function popover(anchor, content, { label, className = '', onClose } = {}) {
  open?.close();
  const former = document.activeElement;
  const element = h('div', { class: `popover ${className}`, role: 'dialog', 'aria-label': label, tabindex: -1 }, content);
  const close = ({ returnsFocus = true } = {}) => {
    if (open?.element !== element) return;
    open = null;
    element.remove();
    removeEventListener('pointerdown', closeOutside, true);
    if (returnsFocus && former?.isConnected) former.focus({ preventScroll: true });
    onClose?.();
  };
  const closeOutside = ({ target }) =>
    !element.contains(target) && !(anchor.contains?.(target)) && close({ returnsFocus: false });
  element.addEventListener('keydown', (event) => onKey(event, element, close));
  document.getElementById('dialogs').append(element);
  addEventListener('pointerdown', closeOutside, true);
  open = { element, close, place: () => place(element, anchor) };
  open.place();
  (element.querySelector('[autofocus], button, input, select') ?? element).focus({ preventScroll: true });
  return open;
}

export const closePopover = () => open?.close();

function onKey(event, element, close) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') close();
  else if (step && !event.target.matches('input, select, textarea')) moveFocus(element, step);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Moves the focus to the next button (`step` 1) or the previous one (-1). */
function moveFocus(element, step) {
  const buttons = [...element.querySelectorAll('button:not([disabled])')];
  const at = buttons.indexOf(document.activeElement);
  const next = at < 0 && step < 0 ? -1 : (at + step + buttons.length) % buttons.length;
  buttons.at(next)?.focus();
}

/**
 * Places the panel below the anchor; above it if it does not fit below and the anchor is in the lower half of the
 * window. It is never larger than the window: its content scrolls.
 */
function place(element, anchor) {
  const box = anchor.getBoundingClientRect?.() ?? { left: anchor.x, top: anchor.y, bottom: anchor.y };
  const width = element.offsetWidth;
  // The height without an earlier `maxHeight`.
  const height = element.offsetHeight - element.clientHeight + element.scrollHeight;
  const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
  const isBelow = box.bottom + GAP + height <= innerHeight - 8 || box.top < innerHeight / 2;
  const top = isBelow ? box.bottom + GAP : Math.max(8, box.top - GAP - height);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
  element.style.maxHeight = `${(isBelow ? innerHeight - top : box.top - GAP) - 8}px`;
}

/** Returns a button of a menu. @param hint the keys that do the same; shown behind the text. */
export function menuItem(text, onclick, { hint, isDanger } = {}) {
  return h('button', { class: `menu-item${isDanger ? ' is-danger' : ''}`, type: 'button', onclick },
    h('span', {}, text), hint && h('kbd', {}, hint));
}
