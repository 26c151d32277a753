// The number that a table draws as bars behind its values.

/** The largest value of an attribute; 0 where one is negative or none is a number. */
export function largest(sections, name) {
  let most = 0;
  for (const { items } of sections) {
    for (const item of items) {
      const value = item[name];
      if (value < 0) return 0;
      if (typeof value === 'number' && value > most) most = value;
    }
  }
  return most;
}
