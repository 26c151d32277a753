// The browser's picker of dates and times for a text field. Dates are in UTC, as the API has them.

import { h } from './dom.js';

/**
 * A button that opens the picker; what is picked stands in `input`, and is committed when the picker is
 * left: a date that is typed changes with each of its parts.
 *
 * @param column a date column; `dateFormat` `day` has no time.
 */
export function datePicker(column, input, commit) {
  const hasTime = column.dateFormat !== 'day';
  const fraction = /\.\d+/.exec(input.value)?.[0] ?? '';
  const present = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(input.value)?.[0] ?? '';
  const source = h('input', { type: hasTime ? 'datetime-local' : 'date', step: hasTime ? 1 : null,
    class: 'date-source', 'aria-label': `Pick ${column.name}`, value: hasTime ? present : present.slice(0, 10) });
  source.addEventListener('change', () => {
    if (source.value === '') return;
    input.value = inUTC(source.value, fraction);
    input.dispatchEvent(new Event('input'));
  });
  source.addEventListener('focusout', () => commit());
  source.addEventListener('keydown', ({ key }) => key === 'Enter' && commit());
  return source;
}

/** A date as the API writes it as the texts of a day and a time; both are empty for another text. */
export function partsOf(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return ['', ''];
  const [day, time] = date.toISOString().split('T');
  return [day, time.replace(/(\.000)?Z$/, '')];
}

/** `2024-02-29` or `2024-02-29T10:00` as the API writes dates; the picker knows no fractions of a second. */
export function inUTC(text, fraction = '') {
  const [day, time = '00:00:00'] = text.split('T');
  return `${day}T${time.length === 5 ? `${time}:00` : time}${fraction}Z`;
}
