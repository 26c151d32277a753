// The browser's picker of dates and times for a text field. Dates are in UTC, as the API has them.

import { h } from './dom.js';

/**
 * Returns a date input beside the text field `input`. The picked date is written into `input` at once, and `commit` is
 * called when the date input is left: the browser reports a change for every part that is typed.
 *
 * @param column a date column; `dateFormat` `day` has no time.
 */
export function datePicker(column, input, commit) {
  const hasTime = column.dateFormat !== 'day';
  const show = () => {
    const [day, time] = partsOf(input.value);
    // The picker has no years before 0.
    if (!/^\d/.test(day)) picker.value = '';
    else picker.value = hasTime ? `${day}T${time.slice(0, 8)}` : day;
  };
  const picker = h('input', { type: hasTime ? 'datetime-local' : 'date', step: hasTime ? 1 : null,
    class: 'date-source', 'aria-label': `Pick ${column.name}`, onfocus: show });
  show();
  picker.addEventListener('change', () => {
    if (picker.value === '') return;
    input.value = picked(picker.value, input.value);
    input.dispatchEvent(new Event('input'));
  });
  picker.addEventListener('focusout', () => commit());
  picker.addEventListener('keydown', ({ key }) => key === 'Enter' && commit());
  return picker;
}

/** A picked date as the API writes it. If the time is that of `former`, its fraction of a second stays. */
function picked(text, former) {
  const date = inUTC(text);
  const [, time] = partsOf(former);
  return time.slice(0, 8) === date.slice(-9, -1) ? inUTC(text, /\.\d+/.exec(former)?.[0]) : date;
}

const dateForm = /^([+-]?)(\d{4,})(-\d\d-\d\d)(?:[T ]([\d:.]+)(Z|[+-]\d\d:\d\d)?)?$/;

/** A date in ISO 8601 as the texts of a day and a time in UTC, as the pickers have them. Returns empty texts if `text` is no date. */
export function partsOf(text) {
  const [, sign, digits, rest, clock = '00:00', offset = 'Z'] = dateForm.exec(text) ?? [];
  // JavaScript writes years with a sign in six digits, the pickers without a sign.
  const date = new Date(`${sign ? sign + digits.padStart(6, '0') : digits}${rest}T${clock}${offset}`);
  if (Number.isNaN(date.getTime())) return ['', ''];
  const [day, time] = date.toISOString().replace(/^\+0*/, '').split('T');
  return [day, time.replace(/(\.000)?Z$/, '')];
}

/** `2024-02-29` or `2024-02-29T10:00` as the API writes dates: a year of more digits has a sign. `fraction` is appended because the picker has none. */
export function inUTC(text, fraction = '') {
  const [day, time = '00:00:00'] = text.split('T');
  return `${/^\d{5}/.test(day) ? '+' : ''}${day}T${time.length === 5 ? `${time}:00` : time}${fraction}Z`;
}
