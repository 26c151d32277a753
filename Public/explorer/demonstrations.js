// Demonstrations of a live table: random edits in the sample data, and a second client beside it.

import { action } from './actions.js';
import { DemoTraffic, sortingAttribute } from './demo-traffic.js';
import { SecondClient } from './second-client.js';
import { token } from './session.js';

export class Demonstrations {
  #page;
  #onChange;

  /**
   * @param page `{client, schema, names, view, isLive, isReadOnly, grid, finding, welcome, saved(token, sentAt)}`.
   * @param onChange called after a demonstration has begun or ended.
   */
  constructor(page, panes, onChange) {
    this.#page = page;
    this.#onChange = onChange;
    this.edits = new DemoTraffic(page.client, (newest, sentAt) => page.saved(newest, sentAt));
    this.second = new SecondClient(panes, { schema: page.schema, names: page.names,
      get view() { return page.view; },
      get where() { return page.finding.where; }, token, onClose: onChange });
  }

  /** @param isFirst true to draw the first one as the main button. */
  buttons(isFirst) {
    const { schema, view, isLive, isReadOnly } = this.#page;
    const column = sortingAttribute(schema, view);
    const { isRunning } = this.edits;
    // Edits that run can be stopped everywhere.
    const hasEdits = schema.isSample && (isRunning || (column && !isReadOnly));
    return [
      hasEdits && action(isRunning ? 'stop' : 'play',
        isRunning ? 'Stop the edits' : 'Make random edits', isRunning ? 'Stop' : 'Edits',
        () => this.#toggleEdits(column), { isPressed: isRunning, isPrimary: isFirst }),
      isLive && action('second', 'Second client', 'Second', () => this.#toggleSecond(),
        { isPressed: this.second.isOpen })];
  }

  #toggleSecond() {
    this.second.toggle();
    this.#onChange();
  }

  async #toggleEdits(column) {
    const page = this.#page;
    await this.edits.toggle(() => ({ entity: page.view.entity,
      column: sortingAttribute(page.schema, page.view) ?? column, items: page.grid.visible }));
    if (this.edits.isRunning) page.welcome.close();
    this.#onChange();
  }
}
