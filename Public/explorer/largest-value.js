// The largest value of a column, to which the bars behind its values are relative.

import { toNumber } from './format.js';

/** The largest value of an attribute; 0 if a value is negative or no value is a number. */
export function largestValue(sections, name) {
  let most = 0;
  for (const { items } of sections) {
    for (const item of items) {
      const value = toNumber(item[name]);
      if (value < 0) return 0;
      if (Number.isFinite(value) && value > most) most = value;
    }
  }
  return most;
}
