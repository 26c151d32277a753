// The tools of a table: its columns, the selection, export and import.

import { action } from './actions.js';
import { openDialog } from './dialogs.js';
import { exportMenu, exportState } from './export.js';
import { acceptDrops, ImportDialog } from './import-dialog.js';
import { SelectionBar } from './selection-bar.js';
import { attemptOf } from './staged.js';
import { TableColumns } from './table-columns.js';

export class TableTools {
  #page;

  /**
   * @param page `{client, schema, view, grid, editing, isReadOnly, request, groups, saved(token, sentAt)}`.
   * @param element the result's: files are dropped there.
   */
  constructor(page, element) {
    this.#page = page;
    this.columns = new TableColumns(page);
    this.selection = new SelectionBar(page);
    acceptDrops(element, () => page.editing.canInsert, (file) => this.#import(file));
  }

  /** The handlers of the grid. */
  get handlers() {
    return { ...this.columns.handlers, onFit: (column) => this.columns.fit(column),
      onSelection: (selection) => this.selection.show(selection), onCopy: () => this.selection.copy('csv'),
      onRemoveSelected: () => this.selection.remove() };
  }

  buttons() {
    const { groups } = this.#page;
    return [action('groups', 'Groups', 'Groups', () => groups.toggle(), { isPressed: groups.isOpen }),
      ...(groups.isOpen ? [] : this.#rowButtons())];
  }

  #rowButtons() {
    return [action('columns', 'Columns', 'Columns', ({ currentTarget }) => this.columns.choose(currentTarget)),
      exportState(), action('export', 'Export', 'Export', ({ currentTarget }) => this.#export(currentTarget)),
      this.#page.editing.canInsert && action('import', 'Import', 'Import', () => this.#choose())];
  }

  #export(anchor) {
    const { client, request, view, grid, schema } = this.#page;
    const { expand, count, offset, limit, ...fetch } = request;
    exportMenu(anchor, { client, view, columns: grid.columns, mayRepeat: schema.entity(view.entity).observable === false, request: { ...fetch,
      offset: view.offset === '' ? undefined : Number(view.offset), limit: view.limit === '' ? undefined : Number(view.limit) } });
  }

  #choose() {
    const input = document.createElement('input');
    Object.assign(input, { type: 'file', accept: '.csv,.tsv,.txt,text/csv' });
    input.addEventListener('change', () => input.files[0] && this.#import(input.files[0]));
    input.click();
  }

  async #import(file) {
    const { client, schema, view: { entity } } = this.#page;
    const [key, ...others] = schema.fields(entity);
    const columns = [{ ...key, readOnly: false, optional: true }, ...others.filter(({ readOnly }) => !readOnly)];
    const bytes = await file.arrayBuffer().catch((error) => openDialog('question', `${file.name} cannot be read`, error.message));
    if (!(bytes instanceof ArrayBuffer)) return;
    let attempt = null;
    new ImportDialog(entity, columns, file.name, bytes, async (rows) => {
      const sentAt = performance.now();
      const changes = rows.map((values, index) => ({ insert: entity, temporaryID: `row-${index}`, values }));
      attempt = attemptOf(changes, attempt);
      const { token } = await client.save(changes, { optimistic: false, idempotencyKey: attempt.key });
      this.#page.saved(token, sentAt);
    });
  }
}
