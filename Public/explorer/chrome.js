// The page around the content: light and dark, drawers on narrow screens, keys for the whole page.

import { helpDialog } from './dialogs.js';

const theme = 'livefetch-theme';

/** Follows the system's color scheme until the user chooses one. */
export function startTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const chosen = () => {
    try { return localStorage.getItem(theme); } catch { return null; }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (dark.matches ? 'dark' : 'light');
  };
  dark.addEventListener('change', apply);
  apply();
  document.getElementById('theme')?.addEventListener('click', () => {
    const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem(theme, next); } catch { /* private windows may refuse */ }
    document.documentElement.dataset.theme = next;
  });
}

/** A text that is cut shows itself whole when the pointer is over it. */
export function startTooltips() {
  addEventListener('pointerover', ({ target }) => {
    const { dataset } = target;
    if (!dataset || (target.title && dataset.tooltip === undefined)) return;
    const isCut = target.scrollWidth > target.clientWidth && getComputedStyle(target).textOverflow === 'ellipsis';
    if (isCut) target.title = target.textContent;
    else if (dataset.tooltip !== undefined) target.removeAttribute('title');
    if (isCut) dataset.tooltip = '';
    else delete dataset.tooltip;
  });
}

/** The model and the inspector as drawers where there is no room beside the table. */
export function startDrawers() {
  const veil = document.getElementById('veil');
  const drawers = ['model', 'inspector'].map((name) => ({
    panel: document.getElementById(name), button: document.getElementById(`open-${name}`) }));
  const set = (drawer, isOpen) => {
    drawer.panel.classList.toggle('is-open', isOpen);
    drawer.button.setAttribute('aria-expanded', String(isOpen));
    veil.hidden = !drawers.some(({ panel }) => panel.classList.contains('is-open'));
  };
  const closeAll = () => drawers.forEach((drawer) => set(drawer, false));
  for (const drawer of drawers) {
    drawer.button.addEventListener('click', () => set(drawer, !drawer.panel.classList.contains('is-open')));
  }
  veil.addEventListener('click', closeAll);
  addEventListener('keydown', ({ key }) => key === 'Escape' && closeAll());
  return closeAll;
}

/** @param actions `{save, insert, predicate, section(step)}`. */
export function startKeys(actions) {
  document.getElementById('open-help').addEventListener('click', helpDialog);
  addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, shiftKey, altKey, target } = event;
    if ((ctrlKey || metaKey) && !shiftKey && key.toLowerCase() === 's') {
      event.preventDefault();
      // A field stages its value when it is left; the grid keeps the focus.
      if (target.matches?.('input, textarea, select')) target.blur();
      return actions.save();
    }
    const isTyping = target.matches?.('input, textarea, select') || document.querySelector('dialog[open]');
    if (isTyping || ctrlKey || metaKey || altKey) return undefined;
    const action = { '/': actions.predicate, n: actions.insert, '?': helpDialog,
      '[': () => actions.section(-1), ']': () => actions.section(1) }[key];
    if (!action) return undefined;
    event.preventDefault();
    return action();
  });
}
