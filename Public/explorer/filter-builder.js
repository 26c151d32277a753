// A filter made of a column, a comparison and a value, without writing a predicate. The search field
// shows the filter as a predicate.

import { conditionsOf, conditionText, operatorsFor, valueCount } from './conditions.js';
import { inUTC, partsOf } from './date-picker.js';
import { debounce, h, replace } from './dom.js';
import { isNumeric } from './format.js';
import { popover } from './popover.js';
import { joined } from './predicate-text.js';

const TYPING = 350;

export class FilterBuilder {
  #page;
  /** The table that the conditions are about. */
  #entity;
  #conditions = [];
  #word = 'AND';
  /** A predicate that the builder cannot show; it holds in addition. */
  #rest = '';
  #list = h('ul', { class: 'conditions' });
  #apply = debounce(() => this.#changed(), TYPING);

  /** @param page `{schema, view, where, change(patch)}`. */
  constructor(page) {
    this.#page = page;
  }

  open(anchor) {
    this.#read();
    if (this.#conditions.length === 0) this.#conditions.push(this.#blank());
    this.#draw();
    const word = h('select', { class: 'field', 'aria-label': 'How the conditions are joined',
      onchange: ({ target }) => { this.#word = target.value; this.#changed(); } },
    [['AND', 'all'], ['OR', 'any']].map(([value, name]) => h('option', { value, selected: value === this.#word }, name)));
    const add = () => {
      this.#conditions.push(this.#blank());
      this.#draw();
      this.#list.lastChild.querySelector('select').focus();
    };
    popover(anchor, [h('p', { class: 'builder-head' }, 'Rows where ', word, ' of these hold'), this.#list,
      this.#rest && h('p', { class: 'quiet' }, 'and ', h('code', {}, this.#rest)),
      h('p', { class: 'builder-foot' }, h('button', { class: 'button', type: 'button', onclick: add }, 'Add a condition'),
        h('button', { class: 'text-button', type: 'button', onclick: () => this.#clear() }, 'Clear'))],
    { label: 'Filter', className: 'filter-builder', onClose: () => this.#apply.flush() });
  }

  #read() {
    const { schema, view, where } = this.#page;
    this.#entity = view.entity;
    const read = conditionsOf(where, (path) => this.#typeOf(schema, view.entity, path));
    this.#rest = read === null ? where : '';
    this.#conditions = read?.conditions ?? [];
    this.#word = read?.word ?? 'AND';
  }

  #typeOf(schema, entity, path) {
    return path.endsWith('.@count') ? 'integer' : schema.resolve(entity, path)?.attribute?.type;
  }

  /** Key paths that can be compared: own ones, of to-one relationships, and counts of to-many ones. */
  get #paths() {
    const { schema, view: { entity } } = this.#page;
    const counts = schema.toMany(entity).map(({ name }) => ({ path: `${name}.@count`, type: 'integer' }));
    const paths = schema.paths(entity).map(({ path, type }) => ({ path, type, isDotted: schema.resolve(entity, path)?.isDotted }))
      .filter(({ isDotted }) => isDotted !== undefined);
    const key = schema.hasKey(entity) || paths.length === 0 ? [{ path: 'id', type: schema.entity(entity).idType }] : [];
    return [...paths, ...key, ...counts];
  }

  #blank() {
    const { schema, view: { entity } } = this.#page;
    const label = schema.label(entity);
    const { path, type, isDotted } = this.#paths.find((each) => each.path === label) ?? this.#paths[0];
    return { path, type, isDotted, operator: operatorsFor(type)[0][0], values: [] };
  }

  #changed() {
    this.#apply.cancel();
    // The user has gone to another table before what was typed was applied.
    if (this.#page.view.entity !== this.#entity) return;
    const texts = this.#conditions.map(conditionText).filter(Boolean);
    const text = texts.join(` ${this.#word} `);
    const isBoth = this.#rest !== '' && text !== '';
    this.#page.change({ where: isBoth ? joined(this.#rest, texts.length > 1 && this.#word === 'OR' ? `(${text})` : text)
      : text || this.#rest });
  }

  #clear() {
    this.#conditions = [this.#blank()];
    this.#rest = '';
    this.#draw();
    this.#changed();
  }

  // MARK: Drawing

  #draw() {
    replace(this.#list, this.#conditions.map((condition, index) => this.#line(condition, index)));
  }

  #line(condition, index) {
    const set = (patch) => {
      // The values may be newer than the line: typing draws nothing.
      this.#conditions[index] = { ...this.#conditions[index], ...patch };
      this.#draw();
      this.#changed();
    };
    const column = h('select', { class: 'field', 'aria-label': 'Column', onchange: ({ target }) => {
      const { path, type, isDotted } = this.#paths[Number(target.value)];
      set({ path, type, isDotted, operator: operatorsFor(type)[0][0], values: [] });
    } }, this.#paths.map(({ path }, at) => h('option', { value: at, selected: path === condition.path }, path)));
    const operator = h('select', { class: 'field', 'aria-label': 'Comparison',
      onchange: ({ target }) => set({ operator: target.value }) },
    operatorsFor(condition.type).map(([value, name]) => h('option', { value, selected: value === condition.operator }, name)));
    return h('li', {}, column, operator, this.#values(index),
      h('button', { class: 'icon-button', type: 'button', 'aria-label': 'Remove the condition', onclick: () => {
        this.#conditions.splice(index, 1);
        this.#draw();
        this.#changed();
      } }, '×'));
  }

  #values(index) {
    const { path, type, operator, values } = this.#conditions[index];
    const set = (at, value) => {
      const next = [...this.#conditions[index].values];
      next[at] = value;
      this.#conditions[index] = { ...this.#conditions[index], values: next };
      this.#apply();
    };
    const input = (at) => {
      const value = values[at] ?? '';
      if (type === 'date') return this.#date(path, value, (text) => set(at, text));
      if (type !== 'boolean') {
        return h('input', { class: 'field', 'aria-label': 'Value', value, type: 'text', inputmode: isNumeric(type) ? 'decimal' : null,
          oninput: ({ target }) => set(at, target.value) });
      }
      return h('select', { class: 'field', 'aria-label': 'Value', onchange: ({ target }) => set(at, target.value) },
        ['', 'yes', 'no'].map((name) => h('option', { value: name, selected: name === value }, name)));
    };
    return h('span', { class: 'condition-values' }, Array.from({ length: valueCount(operator) }, (_, at) => input(at)));
  }

  /** The controls of a day, and of a time where the column has times. */
  #date(path, value, set) {
    const { schema, view } = this.#page;
    const [day, time] = partsOf(value);
    const hasTime = schema.resolve(view.entity, path)?.attribute?.dateFormat !== 'day' || !['', '00:00:00'].includes(time);
    const changed = () => set(date.value && inUTC(`${date.value}T${clock.value || '00:00'}`));
    const date = h('input', { class: 'field', type: 'date', 'aria-label': 'Value', value: day, oninput: changed });
    const clock = h('input', { class: 'field', type: 'time', step: 1, 'aria-label': 'Time, in UTC', title: 'UTC', hidden: !hasTime, value: time || '00:00', oninput: changed });
    return [date, clock];
  }
}
