// Columns as their reader arranges them, and comma-separated values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ColumnSettings } from '../../../Public/explorer/column-settings.js';
import { csvText, decoded, parseCSV } from '../../../Public/explorer/csv.js';

const columns = ['a', 'b', 'c', 'd'].map((name) => ({ name }));

function storage() {
  const kept = new Map();
  return { kept, read: (name) => kept.get(name) ?? null,
    write: (name, text) => (text === null ? kept.delete(name) : kept.set(name, text)) };
}

test('columns are moved, hidden and sized for each table, and remembered', () => {
  const store = storage();
  const names = (settings, entity = 't') => settings.arrange(entity, columns).map(({ name }) => name);
  const settings = new ColumnSettings(store);
  settings.move('t', ['a', 'b', 'c', 'd'], 'd', 1);
  settings.setHidden('t', 'a', true);
  settings.setWidth('t', 'b', 3);
  assert.deepEqual(names(settings), ['d', 'b', 'c']);
  settings.move('t', ['d', 'b', 'c'], 'c', 0);
  const later = new ColumnSettings(store);
  assert.deepEqual(names(later), ['c', 'd', 'b']);
  assert.equal(later.arrange('t', columns)[2].width, 48);
  assert.deepEqual(names(later, 'other'), ['a', 'b', 'c', 'd']);
  later.reset('t');
  assert.deepEqual(names(later), ['a', 'b', 'c', 'd']);
  assert.equal(store.kept.size, 0);
});

test('a new column stands behind the known ones; the last one cannot be hidden', () => {
  const settings = new ColumnSettings(storage());
  settings.move('t', ['a', 'b'], 'b', 0);
  assert.deepEqual(settings.arrange('t', columns).map(({ name }) => name), ['b', 'a', 'c', 'd']);
  for (const { name } of columns) settings.setHidden('t', name, true);
  assert.equal(settings.arrange('t', columns).length, 4);
});

test('a browser that forbids storage still resets the columns', () => {
  const settings = new ColumnSettings({ read: () => null, write: () => {} });
  assert.equal(settings.isChanged('t'), false);
  settings.setHidden('t', 'a', true);
  assert.equal(settings.isChanged('t'), true);
  settings.reset('t');
  assert.equal(settings.isChanged('t'), false);
  assert.deepEqual(settings.arrange('t', columns).map(({ name }) => name), ['a', 'b', 'c', 'd']);
});

test('a stored text that is not of the page counts as nothing', () => {
  const store = storage();
  for (const text of ['{', 'null', '{"order":3}', '[]']) {
    store.write('livefetch.columns.t', text);
    assert.equal(new ColumnSettings(store).arrange('t', columns).length, 4, text);
  }
  store.write('livefetch.columns.t', '{"order":[],"hidden":[],"widths":{"a":"x","b":12.5,"c":120}}');
  assert.deepEqual(new ColumnSettings(store).arrange('t', columns).map(({ width }) => width), [undefined, undefined, 120, undefined]);
});

const texts = (source) => parseCSV(source).rows.map(({ fields }) => fields.map(({ text, isQuoted }) => (isQuoted ? `"${text}"` : text)));

test('CSV is read with quotes, line breaks in fields, and other separators', () => {
  assert.deepEqual(texts('a,b,c\r\n1,,3\n,"",\n"x ""y"", z","l1\nl2",\n'),
    [['a', 'b', 'c'], ['1', '', '3'], ['', '""', ''], ['"x "y", z"', '"l1\nl2"', '']]);
  assert.deepEqual(texts('\uFEFFa;b\n1,5;2'), [['a', 'b'], ['1,5', '2']]);
  assert.deepEqual(texts('a\tb\n\n,\t2\n'), [['a', 'b'], [',', '2']]);
  assert.deepEqual(texts(''), []);
});

test('the separator is found where the heading has a stray quote, and where it is a long text', () => {
  assert.deepEqual(texts('size 5";b\n1;"x;y"\n'), [['size 5"', 'b'], ['1', '"x;y"']]);
  assert.deepEqual(texts('"a,b""c,d"\te\n1\t2\n'), [['"a,b"c,d"', 'e'], ['1', '2']]);
  const long = 'x'.repeat(20_000_000);
  assert.deepEqual(parseCSV(`"${long}",b\n1,2\n`).rows.map(({ fields }) => fields.map(({ text }) => text.length)), [[20_000_000, 1], [1, 1]]);
});

test('what is written is read again, NULL and an empty text apart', () => {
  const rows = [['a', null, ''], ['x,y', '"q"', 'l\r\nm'], [' s', '1;2', 'é']];
  assert.deepEqual(parseCSV(csvText(rows)).rows.map(({ fields }) => fields.map(({ text, isQuoted }) => (text === '' && !isQuoted ? null : text))), rows);
});

const complaints = (source) => parseCSV(source).problems;

test('damaged CSV is complained about with the line', () => {
  assert.deepEqual(complaints('a,b\n"5" pipe,x\n'), ['Line 2: “pipe” stands behind a closing quote; within a text in quotes a quote is written twice.']);
  assert.deepEqual(complaints('a,b\n1,"l\nm"\n2,"open\n3,x\n'), ['Line 4: a quote is opened and never closed.']);
  assert.deepEqual(complaints('a,b\r\n5" pipe,"x" \r\n'), []);
  assert.deepEqual(parseCSV('a\n"l\nm"\n\nz').rows.map(({ line }) => line), [1, 2, 4, 5], 'in a file of one column an empty line is NULL');
});

test('a file that is not UTF-8 is complained about with the line', () => {
  assert.deepEqual(decoded(new Uint8Array([...Buffer.from('name\r\nAda\r\nRen'), 0xe9, 0x0a])).problems,
    ['Line 3: the file is not UTF-8. Save it as UTF-8 where it was made.']);
  assert.deepEqual(decoded(Buffer.from('René')), { text: 'René', problems: [] });
});
