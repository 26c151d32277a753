// The page as the row panel uses it.

import * as address from './address.js';
import { isPhone } from './dom.js';
import { RowPanel } from './row-panel.js';

/** A row panel in `element` that shows rows of the page's tables. */
export function rowPanel(page, element) {
  const go = (entity, where) => page.go({ ...address.blank(page.schema, entity), where }, true);
  return new RowPanel(element, { client: page.client, schema: page.schema, names: page.names, editing: page.editing,
    get storeIsReadOnly() { return page.storeIsReadOnly; }, get mayWrite() { return page.mayWrite; }, go,
    // The row may be of another table than the one that is shown.
    filter: (entity, condition) =>
      (entity === page.view.entity ? page.finding.add(condition) : go(entity, condition)),
    step: (rows) => page.grid.cursor.step(rows),
    closed: () => page.grid.element.focus({ preventScroll: true }) });
}

/** Another row is the current one: the panel follows; on a phone a tap opens it. */
export function showCurrent(page, item, isPointer) {
  if (isPointer && isPhone() && page.grid.selection.size > 0) return page.grid.cursor.toggle();
  const opens = page.rowPanel.isOpen || (isPointer && isPhone());
  return opens && page.rowPanel.open(page.view.entity, item.id, { item });
}
