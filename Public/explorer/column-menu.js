// The menu of a column head: sorts by the column, and shows its most frequent values.

import { h } from './dom.js';
import { Facets } from './facets.js';
import { closePopover, menuItem, popover } from './popover.js';
import { sortText } from './sort-terms.js';

/**
 * @param page `{client, schema, view, change(patch), addCondition(text), narrow(column, from, to), sortPath(column),
 *   columnActions?(column)}`.
 */
export function columnMenu(column, anchor, page) {
  const act = (run) => () => { closePopover(); run(); };
  const path = page.sortPath(column);
  const facets = column.isID ? null : new Facets(page.client, page.view, column, {
    onFilter: (condition) => { closePopover(); page.addCondition(condition); },
    onRange: (...range) => { closePopover(); page.narrow(...range); },
    count: page.schema.countText(page.view.entity), labels: (entity) => page.schema.labels(entity), titleOf: (...row) => page.schema.relatedTitle(...row), onDrawn: () => opened.place() });
  const opened = popover(anchor, [
    h('div', { class: 'menu' },
      path && menuItem('Sort ascending', act(() => page.change({ sort: sortText([path]) }))),
      path && menuItem('Sort descending', act(() => page.change({ sort: sortText([`-${path}`]) }))),
      page.columnActions?.(column).map(([text, run]) => menuItem(text, act(run)))),
    facets?.element], { label: column.name, className: 'column-menu', onClose: () => facets?.close() });
}
