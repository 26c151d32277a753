// The menu of a cell: filter by its value, copy it, show its row.

import { copyText, h } from './dom.js';
import { editable } from './format.js';
import { own } from './json.js';
import { closePopover, menuItem, popover } from './popover.js';
import { equals, filterProblem, isComparable } from './predicate-text.js';

/**
 * Opens the menu of a cell.
 *
 * @param text the value as shown.
 * @param page `{addCondition(text), openRow(), isReadOnly, isSelected, toggle(), edit(), remove()}`.
 */
export function cellMenu(anchor, column, item, text, page) {
  const act = (run) => () => { closePopover(); run(); };
  const value = own(item, column.name) ?? null;
  const canFilter = isComparable(column, value);
  const short = text.length > 28 ? `${text.slice(0, 27)}…` : text === '' ? "''" : text;
  const filter = (isNot) => act(() => page.addCondition(equals(column, value, isNot)));
  popover(anchor, h('div', { class: 'menu' },
    filterProblem(column, value) && h('p', { class: 'quiet menu-note' }, filterProblem(column, value)),
    canFilter && menuItem(`Only ${column.name} = ${short}`, filter(false), { hint: 'Alt Click' }),
    canFilter && menuItem(`Without ${column.name} = ${short}`, filter(true)),
    menuItem('Copy the value', act(() => copyText(value === null ? '' : editable(value, column.type))), { hint: 'Ctrl C' }),
    menuItem(page.isSelected ? 'Unselect the row' : 'Select the row', act(page.toggle), { hint: 'Shift Space' }),
    menuItem('Show the row', act(page.openRow), { hint: 'Space' }),
    !page.isReadOnly && !column.isFixed && menuItem('Edit the cell', act(page.edit), { hint: 'Enter' }),
    !page.isReadOnly && menuItem('Delete the row', act(page.remove), { hint: 'Del', isDanger: true })),
  { label: `${column.name}: ${short}`, className: 'cell-menu' });
}
