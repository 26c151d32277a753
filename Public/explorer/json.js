// JSON of users' values. Integers that a number cannot hold are BigInts, and are written in digits.

/** Stands in front of digits in a text that no value of a user is. */
const MARK = `\u0000${Math.random().toString(36).slice(2)}:`;
const written = JSON.stringify(MARK).slice(1, -1);
const marks = new RegExp(`"${written.replace('\\', '\\\\')}(-?\\d+)"`, 'g');
const texts = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const isUnsafe = (digits) => /^-?\d{16,}$/.test(digits) && !Number.isSafeInteger(Number(digits));

/** A text as a value; throws what `JSON.parse` throws. */
export function parse(text) {
  const value = JSON.parse(text);
  if (!/\d{16}/.test(text)) return value;
  const marked = text.replace(texts, (part) => (isUnsafe(part) ? `"${written}${part}"` : part));
  return JSON.parse(marked, (_, part) =>
    (typeof part === 'string' && part.startsWith(MARK) ? BigInt(part.slice(MARK.length)) : part));
}

/** A value as text. @param indent as `JSON.stringify` takes it. */
export function stringify(value, indent) {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? MARK + part : part), indent);
  return text?.replace(marks, '$1');
}

/** The value of a user's name: names such as `constructor` have none unless it was set. */
export const own = (values, name) => (values && Object.hasOwn(values, name) ? values[name] : undefined);

/** True if two values are the same JSON; nothing is null. */
export const isSame = (left, right) => stringify(left ?? null) === stringify(right ?? null);
