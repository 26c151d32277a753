// A CSV file that was dropped: its columns and the table's side by side, its first rows, and then
// one save that inserts all of them.

import { decoded, parseCSV } from './csv.js';
import { openDialog } from './dialogs.js';
import { h, replace } from './dom.js';
import { number, parse, rowsText } from './format.js';
import { Decimal, number as exact } from './json.js';

const SHOWN = 8;
const REPORTED = 5;

/** Lets a file be dropped on an element. @param onFile called with the file. */
export function acceptDrops(element, canDrop, onFile) {
  // A file that is not taken would be opened in place of the page.
  const isFile = (event) => {
    const isOne = [...event.dataTransfer.types].includes('Files');
    if (isOne) event.preventDefault();
    if (isOne && !canDrop()) event.dataTransfer.dropEffect = 'none';
    return isOne && canDrop();
  };
  element.addEventListener('dragover', (event) => {
    if (!isFile(event)) return;
    element.classList.add('is-drop-target');
  });
  for (const name of ['dragleave', 'drop']) {
    element.addEventListener(name, () => element.classList.remove('is-drop-target'));
  }
  element.addEventListener('drop', (event) => {
    if (!isFile(event)) return;
    const [file] = event.dataTransfer.files;
    if (file) onFile(file);
  });
}

export class ImportDialog {
  #entity;
  #columns;
  #heads;
  /** The data rows: `{line, fields}`. */
  #rows;
  /** The problems of the file itself. */
  #damage;
  /** The table's column for each column of the file; null if it is not imported. */
  #targets;
  /** The results of `valuesOf` for each column of the file. */
  #converted = [];
  #preview = h('div', { class: 'import-preview', tabindex: 0 });
  #complaint = h('ul', { class: 'complaint', role: 'alert' });
  #submit;
  #dialog;

  /**
   * @param columns those that can be written.
   * @param bytes the content of the file.
   * @param save inserts a list of values; rejects with the server's refusal.
   */
  constructor(entity, columns, name, bytes, save) {
    const { text, problems } = decoded(bytes);
    const { rows: [head = { fields: [] }, ...rows], problems: others } = parseCSV(text);
    this.#entity = entity;
    this.#columns = columns;
    this.#heads = head.fields.map((field) => field.text.trim());
    this.#rows = rows;
    this.#damage = [...problems, ...others, ...this.#uneven()];
    this.#targets = head.fields.map(({ text: heading }) => columnFor(heading, columns));
    this.#submit = h('button', { class: 'button primary', type: 'button', onclick: () => this.#import(save) }, 'Import');
    this.#dialog = openDialog('import', `Import ${name} into ${entity}`,
      h('p', {}, `${rowsText(rows.length)}. An empty field is NULL, "" is an empty text. All rows are inserted in one save, or none.`),
      this.#preview, this.#complaint, h('div', { class: 'dialog-actions' },
        h('button', { class: 'button', type: 'button', onclick: () => this.#dialog.close() }, 'Cancel'), this.#submit));
    this.#draw();
  }

  #draw() {
    const head = this.#heads.map((name, index) => h('th', { scope: 'col' }, h('span', {}, name), this.#chooser(index)));
    const rows = this.#rows.slice(0, SHOWN).map((row) => h('tr', {}, this.#heads.map((_, index) => this.#cell(row.fields[index], index))));
    replace(this.#preview, h('table', {}, h('thead', {}, h('tr', {}, head)), h('tbody', {}, rows)),
      this.#rows.length > SHOWN && h('p', { class: 'quiet' }, `and ${number(this.#rows.length - SHOWN)} more`));
    this.#check();
  }

  #chooser(index) {
    return h('select', { class: 'field small', 'aria-label': `Column for ${this.#heads[index]}`, onchange: ({ target }) => {
      this.#targets[index] = this.#columns[Number(target.value)] ?? null;
      this.#draw();
    } }, h('option', { value: -1 }, 'not imported'), this.#columns.map((column, at) =>
      h('option', { value: at, selected: column === this.#targets[index] }, column.name)));
  }

  #cell(field, index) {
    const column = this.#targets[index];
    if (!column) return h('td', { class: 'is-left-out' }, field?.text ?? '');
    try {
      const value = valueOf(field, column);
      return h('td', { class: value === null ? 'is-nil' : '' }, value === null ? 'NULL' : String(field.text));
    } catch (error) {
      return h('td', { class: 'is-wrong', title: error.message }, field.text);
    }
  }

  #check() {
    const problems = this.#problems();
    const hasTarget = this.#targets.some(Boolean);
    this.#submit.disabled = this.#rows.length === 0 || !hasTarget || problems.length > 0;
    this.#submit.textContent = `Import ${rowsText(this.#rows.length)}`;
    this.#complain(!hasTarget && this.#damage.length === 0 ? ['No column of the file is one of the table: choose one.'] : problems);
  }

  #complain(problems) {
    const rest = problems.length - REPORTED;
    replace(this.#complaint, problems.slice(0, REPORTED).map((text) => h('li', {}, text)),
      rest > 0 && h('li', {}, `and ${number(rest)} more`));
  }

  /** Problems of rows with another number of fields than the heading. */
  #uneven() {
    const wanted = this.#heads.length;
    return this.#rows.filter(({ fields }) => fields.length !== wanted).map(({ line, fields }) =>
      `Line ${line}: ${fields.length} ${fields.length === 1 ? 'field' : 'fields'} where the first line has ${wanted}.`);
  }

  /** If the file is malformed, its values are not checked. */
  #problems() {
    const twice = this.#targets.filter((column, index) => column && this.#targets.indexOf(column) !== index);
    const shared = [...new Set(twice)].map((column) =>
      `Line 1: ${this.#heads.filter((_, index) => this.#targets[index] === column).join(' and ')} are both imported into ${column.name}: choose “not imported” for one.`);
    const damage = [...this.#damage, ...shared];
    if (damage.length > 0) return damage;
    return this.#imported().flatMap(({ problems }) => problems).sort((one, other) => one.line - other.line).map(({ text }) => text);
  }

  /** The rows as values to insert. */
  #values() {
    const columns = this.#imported();
    return this.#rows.map((_, row) => {
      const values = Object.create(null);
      for (const { column, list } of columns) {
        // The database makes a key that is not given. A composite foreign key that is NULL in part refers to no row.
        const isLeftOut = list[row] === null && (column.isID || column.hasColumns);
        if (!isLeftOut) values[column.name] = list[row];
      }
      return values;
    });
  }

  /** The indices of the rows in the order in which they are inserted. */
  #order() {
    const columns = this.#imported();
    const ids = columns.find(({ column }) => column.isID)?.list ?? [];
    const references = columns.filter(({ column }) => column.destination === this.#entity).map(({ list }) => list);
    return referredFirst(this.#rows.length, ids, references);
  }

  /** The values of each column that is imported. Only those of a column with another target are converted again. */
  #imported() {
    this.#targets.forEach((column, index) => {
      if (this.#converted[index]?.column !== column) this.#converted[index] = valuesOf(this.#rows, index, column);
    });
    return this.#converted.filter(({ column }) => column);
  }

  async #import(save) {
    this.#submit.disabled = true;
    const order = this.#order();
    try {
      const values = this.#values();
      await save(order.map((row) => values[row]));
      this.#dialog.close();
    } catch (error) {
      const problems = (error.errors ?? []).map(({ change, detail }) => ({ line: this.#rows[order[change]]?.line, detail: (detail ?? '').replaceAll('`', '') }));
      const lines = problems.sort((one, other) => one.line - other.line).map(({ line, detail }) => `Line ${line}: ${detail}`);
      this.#complain(lines.length > 0 ? lines : [error.message]);
      this.#submit.disabled = false;
    }
  }
}

/** The column that a heading names, otherwise one whose name differs in blanks around it or in case only; null if there is none. */
export function columnFor(heading, columns) {
  const trimmed = heading.trim();
  const find = (isName) => columns.find((column) => namesOf(column).some(isName));
  return find((name) => name === heading) ?? find((name) => name === trimmed)
    ?? find((name) => name.toLowerCase() === trimmed.toLowerCase()) ?? null;
}

/** The names of a column in a file: the server calls the relationship of `country_id` and `countryId` `country`. */
const namesOf = ({ name, label, type }) => [name, label ?? name, ...(type === 'relationship' ? [`${name}_id`, `${name}Id`] : [])];

/** A column of the file as values of a table's column: `{column, list, problems}`; a problem is `{line, text}`. */
function valuesOf(rows, index, column) {
  const problems = [];
  const list = column && rows.map(({ line, fields }) => {
    try {
      return valueOf(fields[index], column);
    } catch (error) {
      problems.push({ line, text: `Line ${line}, ${column.name}: ${error.message}` });
      return null;
    }
  });
  return { column, list, problems };
}

/**
 * The indices of rows, each behind the rows that it refers to, else in their order. In a circle of rows one stands before
 * another that it refers to.
 *
 * @param ids those of the rows that have one. @param references lists of the ids to which the rows refer.
 */
export function referredFirst(count, ids, references) {
  const rows = new Map(ids.map((id, row) => [String(id), row]));
  const referred = (row) => references.filter((list) => list[row] !== null).map((list) => rows.get(String(list[row])));
  const begun = new Set();
  const order = [];
  for (let first = 0; first < count; first += 1) {
    const path = begun.has(first) ? [] : [first];
    while (path.length > 0) {
      const row = path.at(-1);
      begun.add(row);
      const next = referred(row).find((other) => other !== undefined && !begun.has(other));
      if (next === undefined) order.push(path.pop());
      else path.push(next);
    }
  }
  return order;
}

/** A field as a value of a column; throws a sentence. */
export function valueOf(field, column) {
  const isEmpty = field === undefined || (field.text === '' && !field.isQuoted);
  if (isEmpty) return null;
  if (column.type === 'relationship') return column.idType === 'integer' ? parse(field.text, { type: 'integer' }) : field.text;
  if (!column.untyped) return parse(field.text, column);
  const value = field.isQuoted ? field.text : untyped(field.text);
  return typeof value === 'string' && column.type === 'binary' ? parse(value, column) : value;
}

/** A field without quotes in a column without a type: a number if it looks like one and keeps its digits, as in `livefetch import`. */
function untyped(text) {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return text;
  const value = exact(text);
  const isKept = typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : !(value instanceof Decimal);
  return isKept ? value : text;
}
