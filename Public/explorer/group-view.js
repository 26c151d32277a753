// Groups of the rows in place of the table: live, as a table, bars or a line.

import { adder } from './controls.js';
import { debounce, h, replace } from './dom.js';
import { number } from './format.js';
import { groupBars, groupLine, groupTable } from './group-charts.js';
import { unknownGroup, firstGroups, groupChoices, groupColumns, groupCondition, groupProblem, groupRequest, MOST, valueChoices, valueColumns }
  from './group-request.js';
import { isTooSlow, slowAdvice, tryAgain } from './notes.js';
import { PlainFetch } from './plain-fetch.js';

const TYPING = 400;
const kinds = [['table', 'Table', groupTable], ['bars', 'Bars', groupBars], ['line', 'Line', groupLine]];
/** The properties of a view without groups. */
const noGroups = { group: '', values: '', having: '', order: '', chart: '' };

export class GroupView {
  #page;
  #live = null;
  #request = null;
  /** The reason why the rows of the last picked group cannot be shown; it stays while the groups change. */
  #problem;
  #groupBy = h('div', { class: 'control' });
  #values = h('div', { class: 'control' });
  #havingField = h('input', { class: 'field having', spellcheck: 'false', oninput: ({ target }) => this.#having(target.value) });
  #kinds = h('div', { class: 'segments', role: 'radiogroup', 'aria-label': 'Shown as' });
  #controls = h('div', { class: 'controls group-controls' }, this.#groupBy, this.#values,
    h('label', { class: 'control' }, h('span', { class: 'name' }, 'having'), this.#havingField), this.#kinds);
  #status = h('p', { class: 'group-status', role: 'status' });
  #body = h('div', { class: 'group-body', tabindex: 0, role: 'region', 'aria-label': 'Groups' });
  #having = debounce((having) => this.#page.change({ having }), TYPING);

  /** @param page `{client, schema, view, where, isLive, change(patch), joined(where, condition), inspect(request, result)}`. */
  constructor(page) {
    this.#page = page;
    this.element = h('div', { class: 'groups', hidden: true }, this.#controls, this.#status, this.#body);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Switches between groups and rows. */
  toggle() {
    const { view, schema, change } = this.#page;
    change(view.values ? noGroups : firstGroups(view, schema));
  }

  /** Shows the groups of the view, or nothing if it has no groups or its table does not exist. */
  follow() {
    const { view, schema, where, client, isLive } = this.#page;
    this.#live?.close();
    this.#live = null;
    this.#problem = undefined;
    this.element.hidden = !view.values || !schema.entity(view.entity);
    // What was typed into "having" a moment ago is not for these groups.
    if (this.element.hidden || view.entity !== this.#request?.entity) this.#having.cancel();
    if (this.element.hidden) return;
    this.#drawControls();
    const request = groupRequest(view, schema, where);
    this.#request = request;
    const unknown = unknownGroup(view);
    if (unknown) return this.#refused({ message: `Rows cannot be grouped by ${unknown}: a date is grouped by its day, month or year, as ${unknown.split(':')[0]}:month.` });
    const handlers = { onChange: (current) => request === this.#request && this.#draw(current),
      onError: (error) => request === this.#request && this.#refused(error) };
    this.#live = isLive ? client.live(request, handlers) : new PlainFetch(client, request, handlers);
  }

  /** Shows the request in the inspector. */
  inspect() {
    this.#page.inspect(this.#request, null);
  }

  #refused(error) {
    this.#status.textContent = '';
    replace(this.#body, h('p', { class: 'complaint', role: 'alert' }, error.message,
      isTooSlow(error) && [` ${slowAdvice}. `, tryAgain(() => this.follow())]));
    this.inspect();
  }

  // MARK: Controls

  #drawControls() {
    const { view, schema, change } = this.#page;
    const groups = view.group.split(',').filter(Boolean);
    const values = view.values.split(',').filter(Boolean);
    const names = new Map(valueChoices(view, schema).map(({ text, name }) => [text, name]));
    const chips = (list, kind, nameOf, isLast) => list.map((text, index) => this.#chip(nameOf(text), !(isLast && list.length === 1)
      && (() => change({ [kind]: list.toSpliced(index, 1).join(',') }))));
    replace(this.#groupBy, h('span', { class: 'name' }, 'group by'), chips(groups, 'group', (text) => text, false),
      adder('Group by', groupChoices(view, schema).filter((path) => !groups.includes(path)).map((path) => ({ text: path, name: path })),
        (path) => change({ group: [...groups, path].join(',') })));
    replace(this.#values, h('span', { class: 'name' }, 'values'), chips(values, 'values', (text) => names.get(text) ?? text, true),
      adder('Add a value', valueChoices(view, schema).filter(({ text }) => !values.includes(text)),
        (text) => change({ values: [...values, text].join(',') })));
    this.#havingField.placeholder = `${valueColumns(view, schema)[0].alias} > 10`;
    if (!this.#having.isWaiting()) this.#havingField.value = view.having;
    replace(this.#kinds, kinds.map(([kind, name]) => h('button', { role: 'radio',
      type: 'button', 'aria-checked': String(kind === view.chart), onclick: () => change({ chart: kind }) }, name)));
  }

  #chip(name, remove) {
    return h('span', { class: 'chip' }, h('span', { class: 'chip-name' }, name),
      remove && h('button', { class: 'remove', type: 'button', 'aria-label': `Remove ${name}`, onclick: remove }, '×'));
  }

  // MARK: Showing

  /** Shows the rows of a group. */
  #pick(groups, row) {
    const { where, change, joined } = this.#page;
    this.#problem = groupProblem(groups, row);
    if (this.#problem) this.#status.textContent = this.#problem;
    else change({ ...noGroups, where: joined(where, groupCondition(groups, row)) });
  }

  #draw(current) {
    const { view, schema, where, change } = this.#page;
    const groups = groupColumns(view, schema);
    const rows = current.sections[0]?.items ?? [];
    const total = current.total ?? rows.length;
    this.#status.textContent = this.#problem ?? (total > MOST ? `the first ${number(MOST)} of ${number(total)} groups`
      : `${number(total)} ${total === 1 ? 'group' : 'groups'}`);
    const [, , chart] = kinds.find(([kind]) => kind === view.chart) ?? kinds[0];
    replace(this.#body, rows.length === 0 ? h('p', { class: 'quiet' }, 'No group.')
      : chart({ groups, values: valueColumns(view, schema), rows, order: view.order,
        room: this.#body.clientWidth - 32 }, {
        onSort: (alias) => change({ order: view.order === `-${alias}` ? alias : `-${alias}` }),
        onPick: (row) => groups.length > 0 && this.#pick(groups, row) }));
    this.inspect();
  }
}
