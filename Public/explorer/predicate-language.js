// A predicate's text → tokens to colour, and what may stand at the caret. Not a parser: the server
// is the one that judges.

const pattern = new RegExp([
  /(?<space>\s+)/, /(?<string>'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?)/,
  /(?<number>0[xob][\da-f]+|(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)/,
  /(?<word>(?:#"(?:\\.|[^"\\])*"?|#'(?:\\.|[^'\\])*'?|[#$@]?[\p{L}_][\p{L}\p{N}_]*)(?:\.(?:#"(?:\\.|[^"\\])*"?|[#@\p{L}_]?[\p{L}\p{N}_]*))*)/,
  /(?<symbol><=|>=|=<|=>|==|!=|<>|&&|\|\||\*\*|\[[cdn]{1,3}\]|%[@Kdfl]+|.)/,
].map(({ source }) => source).join('|'), 'giu');

const comparisons = ['BETWEEN', 'IN', 'BEGINSWITH', 'ENDSWITH', 'CONTAINS', 'LIKE', 'MATCHES'];
const connectives = ['AND', 'OR'];
const quantifiers = ['ANY', 'SOME', 'ALL', 'NONE'];
const constants = ['TRUE', 'YES', 'FALSE', 'NO', 'NULL', 'NIL', 'TRUEPREDICATE', 'FALSEPREDICATE'];
export const keywords = new Set([
  ...comparisons, ...connectives, ...quantifiers, ...constants, 'NOT', 'SELF', 'SUBQUERY',
  'CAST', 'FUNCTION', 'TERNARY']);
const compareSymbols = new Set(['=', '==', '!=', '<>', '<', '>', '<=', '=<', '>=', '=>']);

/** Tokens `{kind, text, start}` that together are the text; kinds are the names above. */
export function tokens(text) {
  return [...text.matchAll(pattern)].map(({ 0: word, index, groups }) => {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    const isKeyword = kind === 'word' && keywords.has(word.toUpperCase());
    return { kind: isKeyword ? 'keyword' : kind, text: word, start: index };
  });
}

/**
 * The tokens that may follow at the caret: `{expects, partial, start, path}`; `expects` is `operand`,
 * `operator`, `value` or `connective`, `path` the key path that an operator or value belongs to.
 */
export function context(text, caret) {
  const before = tokens(text.slice(0, caret)).filter(({ kind }) => kind !== 'space');
  const last = before.at(-1);
  const isOpen = last && last.start + last.text.length === caret
    && ['word', 'keyword', 'string', 'number'].includes(last.kind);
  const isText = isOpen && (last.kind === 'string' || last.kind === 'number');
  if (isText && isClosed(last)) return { expects: 'nothing', partial: '', start: caret };
  const done = isOpen ? before.slice(0, -1) : before;
  const partial = isOpen ? last.text : '';
  return { ...expectation(done), partial, start: caret - partial.length };
}

const isClosed = ({ kind, text }) => kind === 'number' || (text.length > 1 && text.at(-1) === text[0]);

function expectation(done) {
  const last = done.at(-1);
  if (!last) return { expects: 'operand' };
  if (isComparison(last)) return { expects: 'value', path: done.at(-2)?.text };
  if (/^\[[cdn]+\]$/i.test(last.text)) return { expects: 'value', path: done.at(-3)?.text };
  if (last.kind === 'symbol') return afterSymbol(done);
  if (last.kind === 'keyword' && !constants.includes(last.text.toUpperCase())) {
    return { expects: 'operand' };
  }
  const isRight = done.length > 1 && (isComparison(done.at(-2)) || /^\[/.test(done.at(-2).text));
  const isWhole = last.kind === 'keyword' && /PREDICATE$/i.test(last.text);
  return isRight || isWhole ? { expects: 'connective' } : { expects: 'operator', path: last.text };
}

function afterSymbol(done) {
  const { text } = done.at(-1);
  if (text === ')' || text === '}') return { expects: 'connective' };
  if (text === '{' || text === ',') {
    const opening = done.findLastIndex((token) => token.text === '{');
    return { expects: 'value', path: done[opening - 2]?.text };
  }
  return { expects: 'operand' };
}

export const isComparison = ({ kind, text }) =>
  compareSymbols.has(text) || (kind === 'keyword' && comparisons.includes(text.toUpperCase()));

/** Operators that make sense for a type, with what they mean. */
export function operators(type) {
  const equal = [['==', 'equals'], ['!=', 'differs']];
  const order = [['>=', 'at least'], ['<=', 'at most'], ['>', 'more than'], ['<', 'less than'],
    ['BETWEEN {', 'from … to, inclusive']];
  const text = [['CONTAINS[cd] ', 'ignoring case and accents'], ['BEGINSWITH[cd] ', 'starts with'],
    ['ENDSWITH[cd] ', 'ends with'], ['LIKE[cd] ', '? and * as wildcards'],
    ['MATCHES ', 'a regular expression']];
  const list = [['IN {', 'one of']];
  if (type === 'string' || type === 'uri') return [...equal, ...text, ...order.slice(0, 4), ...list];
  if (type === 'boolean' || type === 'relationship') return [...equal, ...list];
  return [...order.slice(0, 4), ...equal, order[4], ...list];
}

/** The index of a character by its byte in UTF-8. */
export function indexOfByte(text, offset) {
  let bytes = 0;
  let index = 0;
  for (const character of text) {
    if (bytes >= offset) break;
    bytes += new TextEncoder().encode(character).length;
    index += character.length;
  }
  return index;
}

export { connectives, quantifiers };
