// Texts of the search field and the filter builder.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complete } from '../../../Public/explorer/completion.js';
import { conditionsOf, conditionText } from '../../../Public/explorer/conditions.js';
import { tokens } from '../../../Public/explorer/predicate-language.js';
import { equals, filterProblem, isComparable, joined, nameText, pathOf, pathText, quoted } from '../../../Public/explorer/predicate-text.js';
import { isSameID } from '../../../Public/explorer/row-key.js';
import { Schema } from '../../../Public/explorer/schema.js';
import { isSearch, predicateOf, words } from '../../../Public/explorer/search-words.js';
import { isDescending } from '../../../Public/explorer/sort-terms.js';
import { narrowed, sortedBy } from '../../../Public/explorer/view-changes.js';

const schema = new Schema({ entities: [{ name: 'book', idType: 'integer', relationships: [], attributes: [
  { name: 'title', type: 'string' }, { name: 'in', type: 'string' }, { name: 'price', type: 'double' },
  { name: 'published', type: 'date' }, { name: 'signed', type: 'boolean' }] },
{ name: 'log', idType: 'integer', relationships: [], attributes: [{ name: 'at', type: 'date' }] }] });

test('words without a comparison are a search, also with "and" between them', () => {
  for (const text of ['new york', 'rock and roll', '"books in spain"', "it's", '42', 'https://a.example/b?c=d&e=(f)']) assert.equal(isSearch(text), true, text);
  for (const text of ['', ' ', 'price > 3', "title LIKE 'a*'", 'TRUEPREDICATE', 'NOT (x)', 'books in spain', 'a && b']) {
    assert.equal(isSearch(text), false, text);
  }
});

test('each word is looked for in every text column, a number also as a value', () => {
  assert.deepEqual(words('a "b c" \'d e\''), ['a', 'b c', 'd e']);
  assert.equal(predicateOf("O'Hara", schema, 'book'), "title CONTAINS[cd] 'O\\'Hara' OR #in CONTAINS[cd] 'O\\'Hara'");
  assert.equal(predicateOf('12 x', schema, 'log'), '(id == 12) AND (FALSEPREDICATE)');
  assert.equal(predicateOf('1.5', schema, 'book'), "title CONTAINS[cd] '1.5' OR #in CONTAINS[cd] '1.5' OR price == 1.5");
  assert.equal(predicateOf(' price > 3 ', schema, 'book'), 'price > 3');
});

test('words are looked for in columns whose names are no words, too', () => {
  const odd = new Schema({ entities: [{ name: 'odd', idType: 'integer', relationships: [], attributes: [{ name: 'name', type: 'string' },
    { name: 'first name', type: 'string' }, { name: 'a.b', type: 'integer' }] }] });
  assert.equal(predicateOf('x 7', odd, 'odd'), `(name CONTAINS[cd] 'x' OR #"first name" CONTAINS[cd] 'x') AND `
    + `(name CONTAINS[cd] '7' OR #"first name" CONTAINS[cd] '7' OR id == 7 OR #"a.b" == 7)`);
  assert.equal(predicateOf('#"a.b" == 7', odd, 'odd'), '#"a.b" == 7');
  assert.equal(predicateOf('12345678901234567.25', new Schema({ entities: [{ name: 'n', idType: 'uuid', relationships: [],
    attributes: [{ name: 'price', type: 'decimal' }] }] }), 'n'), 'price == 12345678901234567.25');
});

test('a value that its column cannot hold is no filter', () => {
  const cases = [['integer', 'seven', 7], ['decimal', 'abc', 1.5], ['double', 'one', 'Infinity'], ['boolean', 'maybe', false],
    ['date', '12:34', '2024-02-29T00:00:00Z'], ['uuid', '', '16fd2706-8baf-433b-82eb-8c7fada847da'], ['string', 5, ''], ['integer', true, '9223372036854775807']];
  for (const [type, wrong, right] of cases) {
    const column = { name: 'c', type };
    assert.deepEqual([isComparable(column, wrong), isComparable(column, right), isComparable(column, null)], [false, true, true], type);
  }
  assert.equal(filterProblem({ name: 'c', type: 'integer' }, 'seven'), 'A filter compares integer values, and “seven” is none.');
  assert.equal(filterProblem({ name: 'c', type: 'integer' }, '1'), 'A filter compares integer values, and “1” is none.', 'the text is not the number');
});

test('values become literals, and a condition is joined to what stands there', () => {
  assert.deepEqual([null, true, 3, "a'b\\c\nd"].map(quoted), ['NULL', 'TRUE', '3', "'a\\'b\\\\c\\nd'"]);
  assert.equal(pathText('in.any.name'), '#in.#any.name');
  assert.deepEqual(['tag.@count', '@x', 'a b.@count'].map(pathText), ['tag.@count', '#"@x"', '#"a b.@count"']);
  assert.equal(equals({ name: 'title', type: 'string' }, 'x', true), "title != 'x'");
  assert.equal(equals({ name: 'n', type: 'integer' }, '9223372036854775807'), 'n == 9223372036854775807');
  assert.equal(equals({ name: 'n', type: 'decimal' }, '9007199254740993'), 'n == 9007199254740993');
  assert.deepEqual([' ', 'nan?', '12', '12345678901234567890', '-Infinity', 1.5].map((value) => isComparable({ name: 'd', type: 'decimal' }, value)), [false, false, false, true, true, true]);
  assert.equal(equals({ name: 'code', type: 'string' }, '9223372036854775807'), "code == '9223372036854775807'");
  assert.equal(joined('', 'a == 1'), 'a == 1');
  assert.equal(joined('b == 2', 'a == 1'), 'b == 2 AND a == 1');
  assert.equal(joined("b == 'x or y'", 'a == 1'), "b == 'x or y' AND a == 1");
  assert.equal(joined('b == 2 OR c == 3', 'a == 1'), '(b == 2 OR c == 3) AND a == 1');
  assert.equal(narrowed("price BETWEEN {1, 2} AND title != 'x'", 'price', 3, 4.56789), "title != 'x' AND price BETWEEN {3, 4.57}");
  assert.equal(narrowed('', 'price', 0, 0.0005), 'price BETWEEN {0, 0.0005}');
  assert.equal(narrowed('', 'price', 150.4, 151.6), 'price BETWEEN {150.4, 151.6}', 'all values of a bar are in it');
  assert.equal(narrowed('', 'price', 1234567.8, 2345678.9), 'price BETWEEN {1234567, 2345679}');
});

test('a name that is no word is written in quotes, read, coloured and completed', () => {
  const odd = new Schema({ entities: [{ name: 'odd', idType: 'integer', attributes: [{ name: 'first "name', type: 'string' },
    { name: 'No.', type: 'integer' }, { name: 'in', type: 'string' }], relationships: [{ name: 'the boss', destination: 'odd', toMany: false }] }] });
  assert.deepEqual(['first "name', 'No.', 'the boss.No.', 'name', 'in'].map(pathText), ['#"first \\"name"', '#"No."', '#"the boss.No."', 'name', '#in']);
  assert.deepEqual(['a.b', 'a b', 'a'].map(nameText), ['#"a.b"', '#"a b"', 'a']);
  assert.deepEqual(['#"first \\"name"', `#'it\\'s'`, 'a.#"b c".#in'].map(pathOf), ['first "name', "it's", 'a.b c.in']);
  assert.deepEqual(tokens('#"a b" == 1').map(({ kind }) => kind), ['word', 'space', 'symbol', 'space', 'number']);
  assert.deepEqual(tokens('a.#"b c".d').map(({ kind }) => kind), ['word']);
  assert.deepEqual([odd.resolve('odd', 'No.').attribute.type, odd.resolve('odd', 'the boss.No.').attribute.type, odd.resolve('odd', 'the boss.x')],
    ['integer', 'integer', undefined]);
  assert.equal(equals({ name: 'No.', type: 'integer' }, 7), '#"No." == 7');
  assert.equal(narrowed('#"No." BETWEEN {1, 2} AND a == 1', 'No.', 3, 4), 'a == 1 AND #"No." BETWEEN {3, 4}');
  const list = [{ path: 'first "name', type: 'string', operator: '==', values: ['x'] }, { path: 'the boss.No.', type: 'integer', operator: '>', values: ['1'] }];
  assert.deepEqual(conditionsOf(list.map(conditionText).join(' AND '), (path) => odd.resolve('odd', path)?.attribute?.type), { conditions: list, word: 'AND' });
  const dotted = [{ path: 'a.b', isDotted: true, type: 'integer', operator: '==', values: ['1'] }];
  assert.deepEqual(conditionsOf(conditionText(dotted[0]), () => 'integer'), { conditions: dotted, word: 'AND' });
  assert.equal(conditionText(dotted[0]), '#"a.b" == 1');
  const at = (text) => complete(text, text.length, { schema: odd, entity: 'odd', values: () => [] }).items.map(({ insert }) => insert);
  assert.deepEqual([at('fir'), at('#"N'), at('i')], [['#"first \\"name" '], ['#"No." '], ['in ']]);
  assert.ok(at('#"No." ').includes('>= '));
});

test('what the filter builder writes it reads again', () => {
  const typeOf = (path) => schema.resolve('book', path)?.attribute?.type;
  const list = [{ path: 'title', type: 'string', operator: 'CONTAINS[cd]', values: ["O'Hara"] },
    { path: 'in', type: 'string', operator: '!= NULL', values: [] },
    { path: 'price', type: 'double', operator: 'BETWEEN', values: ['1', '2.5'] },
    { path: 'signed', type: 'boolean', operator: '==', values: ['yes'] },
    { path: 'published', type: 'date', operator: '>=', values: ['2024-02-29T00:00:00Z'] }];
  const text = list.map(conditionText).join(' OR ');
  assert.equal(text, "title CONTAINS[cd] 'O\\'Hara' OR #in != NULL OR price BETWEEN {1, 2.5} OR signed == TRUE "
    + "OR published >= '2024-02-29T00:00:00Z'");
  assert.deepEqual(conditionsOf(text, typeOf), { conditions: list, word: 'OR' });
});

test('the builder reads the escapes of a text as the server does', () => {
  const valueOf = (literal) => conditionsOf(`title == ${literal}`, () => 'string')?.conditions[0].values[0];
  const cases = [["'\\u00e9\\ud83d\\ude00'", 'é😀', "'é😀'"], ['"tab\\t"', 'tab\t', "'tab\\t'"], ["'it\\'s'", "it's", "'it\\'s'"],
    ["'a\\d\\*'", 'a\\d\\*', "'a\\\\d\\\\*'"], ["'a\\\\d'", 'a\\d', "'a\\\\d'"], ["'\\U00e9\\\\u00e9'", '\\U00e9\\u00e9', "'\\\\U00e9\\\\u00e9'"]];
  for (const [literal, value, written] of cases) {
    assert.equal(valueOf(literal), value, literal);
    assert.equal(conditionText({ path: 'title', type: 'string', operator: '==', values: [value] }), `title == ${written}`);
    assert.equal(valueOf(written), value, written);
  }
  assert.deepEqual(["'\\u12'", "'\\ud83d'", "'abc", "'abc\\'"].map(valueOf), [undefined, undefined, undefined, undefined]);
  assert.equal(pathOf('#"caf\\u00e9"'), 'café');
});

test('the builder writes only literals that the server accepts', () => {
  const text = (type, value) => conditionText({ path: 'c', type, operator: '==', values: [value] });
  for (const value of ['5', '-5', '.5', '-.5', '1.25', '1e3', '2E-7', '0x1F', '0b101', '0o17', '12345678901234567890']) assert.equal(text('double', value), `c == ${value}`);
  for (const value of ['', '5.', '+5', '1_0', '1,5', 'x', '0b12', '٣', '1e400', 'Infinity']) assert.equal(text('double', value), null, value);
  for (const value of ['2024-02-29', '2024-02-29T10:00:00Z', '2024-02-29 10:00', '2024-02-29T10:00:00.25+02:00', '+12024-01-01T00:00:00Z', '-0044-03-15']) {
    assert.equal(text('date', value), `c == '${value}'`);
  }
  for (const value of ['', '2024', 'March 3 2020', '10000-01-01', '2023-02-29', '2024-13-01', '2024-02-29T25:00Z', '2024-02-29T']) assert.equal(text('date', value), null, value);
  assert.deepEqual([text('boolean', 'yes'), text('boolean', 'no'), text('boolean', '')], ['c == TRUE', 'c == FALSE', null]);
  assert.deepEqual([text('uuid', '16fd2706-8baf-433b-82eb-8c7fada847da'), text('uuid', '16fd')], ["c == '16fd2706-8baf-433b-82eb-8c7fada847da'", null]);
});

test('a number without a digit before its point is one token', () => {
  assert.deepEqual(tokens('n>.5').map(({ kind, text }) => [kind, text]), [['word', 'n'], ['symbol', '>'], ['number', '.5']]);
  assert.deepEqual(conditionsOf('n > .5 AND n < -.5e3', () => 'double').conditions.map(({ values }) => values), [['.5'], ['-.5e3']]);
});

test('a predicate that is not of the builder is left alone', () => {
  const typeOf = (path) => schema.resolve('book', path)?.attribute?.type;
  for (const text of ['NOT price > 3', 'price > 3 AND (price < 5)', 'price > 3 OR price < 1 AND title == NULL',
    'price > price', 'ANY tag.name == 1', 'nothing == 1', 'price ==', "title MATCHES 'x'", 'price BETWEEN {3 - 5}', 'price BETWEEN {3 5}',
    'price > 3 -5', 'price == {5}', "price == '5'", 'title == 5', 'title == TRUE', 'signed == 1', "published == '2024'", 'published > 5']) {
    assert.equal(conditionsOf(text, typeOf), null, text);
  }
  assert.equal(conditionText({ path: 'price', type: 'double', operator: '>', values: ['x'] }), null);
});

test('an empty text is a value of a condition, and a value that was not typed is none', () => {
  const text = (type, operator, values) => conditionText({ path: 'c', type, operator, values });
  assert.deepEqual([text('string', '==', ['']), text('uri', '!=', ['']), text('string', '==', [])], ["c == ''", "c != ''", null]);
  assert.deepEqual([text('string', 'CONTAINS[cd]', ['']), text('string', 'BEGINSWITH[cd]', ['']), text('string', 'ENDSWITH[cd]', [''])],
    [null, null, null], 'a field that was emptied');
  assert.deepEqual([text('integer', 'BETWEEN', [, '9']), text('integer', '==', [, '9']), text('integer', 'BETWEEN', ['1', '9'])],
    [null, null, 'c BETWEEN {1, 9}']);
  assert.deepEqual(conditionsOf("c == '' AND c != ''", () => 'string').conditions.map(({ values }) => values), [[''], ['']]);
  assert.equal(conditionsOf("c CONTAINS[cd] ''", () => 'string'), null, 'the builder leaves it as it is');
});

test('words are looked for in columns of the type uri, too', () => {
  const sites = new Schema({ entities: [{ name: 'site', idType: 'integer', relationships: [], attributes: [
    { name: 'name', type: 'string' }, { name: 'home', type: 'uri' }] }] });
  assert.equal(predicateOf('example', sites, 'site'), "name CONTAINS[cd] 'example' OR home CONTAINS[cd] 'example'");
});

test('the text key "null" is not the key of no row', () => {
  assert.deepEqual([isSameID(null, 'null'), isSameID('null', null), isSameID(undefined, 'undefined'), isSameID(null, undefined)],
    [false, false, false, false]);
  assert.deepEqual([isSameID(null, null), isSameID('null', 'null'), isSameID(7, '7'), isSameID(7, 8)], [true, true, true, false]);
});

test('a column whose name begins with a minus is sorted by in both directions', () => {
  assert.deepEqual([sortedBy('', '-neg'), sortedBy('-neg', '-neg'), sortedBy('--neg', '-neg'), sortedBy('-neg:c', '-neg')], ['-neg', '--neg', '-neg', '--neg:c']);
  assert.deepEqual([sortedBy('', 'neg'), sortedBy('neg', 'neg'), sortedBy('-neg', 'neg')], ['neg', '-neg', 'neg']);
  assert.deepEqual([isDescending('-neg', ['-neg']), isDescending('--neg', ['-neg']), isDescending('-neg', ['neg']), isDescending('-neg', ['neg', '-neg']),
    isDescending('neg', ['neg'])], [false, true, true, true, false], 'the server looks for a column without the minus first');
});
