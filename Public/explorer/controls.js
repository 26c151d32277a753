// Sort, section and window: the rest of a fetch request.

import { h, replace } from './dom.js';
import { dateParts } from './group-request.js';
import { isDescending, sortTerms, sortText, withoutOptions } from './sort-terms.js';

export class Controls {
  #parent;
  #onChange;

  /** @param onFilter called with the button of the filter builder. */
  constructor(parent, onChange, onFilter) {
    this.#parent = parent;
    this.#onChange = onChange;
    this.#filter = h('button', { class: 'control-button', type: 'button', 'aria-haspopup': 'dialog',
      onclick: ({ currentTarget }) => onFilter(currentTarget) }, 'Filter …');
  }

  #filter;

  show(view, schema) {
    const { entity } = view;
    // A column without a name looks like no column.
    const paths = schema.paths(entity).filter(({ path }) => path !== '');
    replace(this.#parent, this.#filter,
      this.#sort(view, paths), this.#section(view, paths), this.#window(view));
  }

  // MARK: Sort

  #sort(view, paths) {
    const terms = sortTerms(view.sort);
    const change = (list) => this.#onChange({ sort: sortText(list) });
    const known = paths.map(({ path }) => path);
    const keys = terms.map((term) => (isDescending(term, known) ? { text: term.slice(1), isDown: true } : { text: term, isDown: false }));
    const chips = keys.map(({ text, isDown }, index) => this.#chip(text, isDown,
      () => change(terms.with(index, isDown ? text : `-${text}`)),
      () => change(terms.toSpliced(index, 1))));
    const free = paths.filter(({ path }) => !keys.some(({ text }) => withoutOptions(text) === path));
    return h('div', { class: 'control' }, h('span', { class: 'name' }, 'sort'), chips,
      adder('Add a sort key', free.map(({ path }) => ({ text: path, name: path })), (path) => change([...terms, path])));
  }

  #chip(text, isDown, turn, remove) {
    const label = `${withoutOptions(text)}, ${isDown ? 'descending' : 'ascending'}`;
    return h('span', { class: 'chip' },
      h('button', { onclick: turn, 'aria-label': `${label}; reverse` },
        text, h('span', { class: 'arrow' }, isDown ? '↓' : '↑')),
      h('button', { class: 'remove', onclick: remove, 'aria-label': `Remove ${withoutOptions(text)}` }, '×'));
  }

  // MARK: Section

  #section(view, paths) {
    const isDown = view.section.startsWith('-');
    const current = view.section.replace(/^-/, '');
    const choices = paths.flatMap(({ path, type }) => [path, ...partsOf(path, type)]);
    if (current && !choices.includes(current)) choices.unshift(current);
    const options = choices.map(
      (path) => h('option', { value: path, selected: path === current }, path));
    const pick = ({ target }) => this.#onChange({ section: target.value });
    const turn = () => this.#onChange({ section: (isDown ? '' : '-') + current });
    return h('div', { class: 'control' }, h('span', { class: 'name' }, 'section'),
      h('select', { class: 'field', onchange: pick, 'aria-label': 'Section' },
        h('option', { value: '', selected: current === '' }, 'none'), options),
      current && h('span', { class: 'chip' },
        h('button', { onclick: turn, 'aria-label': 'Reverse the order of sections' },
          h('span', { class: 'arrow' }, isDown ? '↓' : '↑'))));
  }

  // MARK: Window

  #window(view) {
    const hasOffset = view.limit !== '' || view.offset !== '';
    return [this.#number(view, 'limit', 'all'), hasOffset && this.#number(view, 'offset', '0')];
  }

  #number(view, name, placeholder) {
    const change = ({ target }) => {
      if (target.reportValidity()) this.#onChange({ [name]: target.value });
    };
    return h('label', { class: 'control' }, h('span', { class: 'name' }, name),
      h('input', { class: 'field', type: 'number', min: 0, step: 1, placeholder,
        value: view[name], onchange: change }));
  }
}

/** A menu of what can be added. @param choices `{text, name}`; `add` is called with the text. */
export const adder = (label, choices, add) => h('span', { class: 'adder' },
  h('select', { 'aria-label': label, onchange: ({ target }) => add(target.value) },
    h('option', { value: '', disabled: true, selected: true }, ''), choices.map(({ text, name }) => h('option', { value: text }, name))));

function partsOf(path, type) {
  if (type === 'string') return [`${path}:initial`];
  return type === 'date' ? dateParts.map((part) => `${path}:${part}`) : [];
}
