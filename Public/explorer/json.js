// JSON of users' values: numbers of any size and precision keep their digits.

import { stringify } from '../livefetch/json.js';

export { Decimal, number, parse, stringify } from '../livefetch/json.js';

/** The value of a user's name: names such as `constructor` have none unless it was set. */
export const own = (values, name) => (values && Object.hasOwn(values, name) ? values[name] : undefined);

/** True if two values are the same JSON; nothing is null. */
export const isSame = (left, right) => stringify(left ?? null) === stringify(right ?? null);
