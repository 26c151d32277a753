// The browser's picker of dates and times for a text field. Dates are in UTC, as the API has them.

import { h } from './dom.js';

/**
 * A button that opens the picker; the picked date is the text of `input`, and is committed when the picker is
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

const dateForm = /^([+-]?)(\d{4,})(-\d\d-\d\d)(?:[T ]([\d:.]+)(Z|[+-]\d\d:\d\d)?)?$/;

/** A date in ISO 8601 as the texts of a day and a time in UTC, as the pickers have them; both are empty for another text. */
export function partsOf(text) {
  const [, sign, digits, rest, clock = '00:00', offset = 'Z'] = dateForm.exec(text) ?? [];
  // JavaScript writes years with a sign in six digits, the pickers without a sign.
  const date = new Date(`${sign ? sign + digits.padStart(6, '0') : digits}${rest}T${clock}${offset}`);
  if (Number.isNaN(date.getTime())) return ['', ''];
  const [day, time] = date.toISOString().replace(/^\+0*/, '').split('T');
  return [day, time.replace(/(\.000)?Z$/, '')];
}

/** `2024-02-29` or `2024-02-29T10:00` as the API writes dates: a year of more digits has a sign. The picker knows no fractions of a second. */
export function inUTC(text, fraction = '') {
  const [day, time = '00:00:00'] = text.split('T');
  return `${/^\d{5}/.test(day) ? '+' : ''}${day}T${time.length === 5 ? `${time}:00` : time}${fraction}Z`;
}
