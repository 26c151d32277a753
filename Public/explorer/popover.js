// A small panel at an element: one at a time, closed by Escape, a press outside, or another one.

import { h } from './dom.js';

const GAP = 4;
let open = null;

/**
 * Opens a panel below `anchor`, an element or a place `{x, y}`; the focus goes into it and returns
 * when it is closed, but not after a press outside. Returns `{element, close(), place()}`.
 *
 * @param options `label` names it, `className` is added, `onClose` is called.
 */
export function popover(anchor, content, { label, className = '', onClose } = {}) {
  open?.close();
  const former = document.activeElement;
  const element = h('div', { class: `popover ${className}`, role: 'dialog', 'aria-label': label, tabindex: -1 }, content);
  const close = ({ returnsFocus = true } = {}) => {
    if (open?.element !== element) return;
    open = null;
    element.remove();
    removeEventListener('pointerdown', outside, true);
    if (returnsFocus && former?.isConnected) former.focus({ preventScroll: true });
    onClose?.();
  };
  const outside = ({ target }) =>
    !element.contains(target) && !(anchor.contains?.(target)) && close({ returnsFocus: false });
  element.addEventListener('keydown', (event) => onKey(event, element, close));
  document.getElementById('dialogs').append(element);
  addEventListener('pointerdown', outside, true);
  open = { element, close, place: () => place(element, anchor) };
  open.place();
  (element.querySelector('[autofocus], button, input, select') ?? element).focus({ preventScroll: true });
  return open;
}

export const closePopover = () => open?.close();

function onKey(event, element, close) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') close();
  else if (step && !event.target.matches('input, select, textarea')) move(element, step);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The arrow keys go from button to button. */
function move(element, step) {
  const buttons = [...element.querySelectorAll('button:not([disabled])')];
  const at = buttons.indexOf(document.activeElement);
  const next = at < 0 && step < 0 ? -1 : (at + step + buttons.length) % buttons.length;
  buttons.at(next)?.focus();
}

/** Below the anchor; above it if it does not fit below and the anchor is in the lower half of the window. */
function place(element, anchor) {
  const box = anchor.getBoundingClientRect?.() ?? { left: anchor.x, top: anchor.y, bottom: anchor.y };
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = Math.max(8, Math.min(box.left, innerWidth - width - 8));
  const isBelow = box.bottom + GAP + height <= innerHeight - 8 || box.top < innerHeight / 2;
  const top = isBelow ? box.bottom + GAP : Math.max(8, box.top - GAP - height);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
  element.style.maxHeight = `${(isBelow ? innerHeight - top : box.top - GAP) - 8}px`;
}

/** A line of a menu. */
export function menuItem(text, onclick, { hint, isDanger } = {}) {
  return h('button', { class: `menu-item${isDanger ? ' is-danger' : ''}`, type: 'button', onclick },
    h('span', {}, text), hint && h('kbd', {}, hint));
}
