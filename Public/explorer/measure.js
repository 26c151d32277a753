// The number that a table draws as bars behind its values.

import { nearest } from './format.js';

/** The largest value of an attribute; 0 where one is negative or none is a number. */
export function largest(sections, name) {
  let most = 0;
  for (const { items } of sections) {
    for (const item of items) {
      const value = nearest(item[name]);
      if (value < 0) return 0;
      if (Number.isFinite(value) && value > most) most = value;
    }
  }
  return most;
}
