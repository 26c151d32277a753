// The server's OpenAPI document, rendered: every operation with its parameters, body and answers.

import { connect } from '../livefetch.js';
import { startTheme } from './chrome.js';
import { h, replace, sentence } from './dom.js';
import { token } from './session.js';
import { signIn, startLinks } from './sign-in.js';

/** The depth to which the properties of a schema are written out. */
const DEEPEST = 4;
const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];

const client = connect('', { token });

async function load() {
  try {
    return (await client.transport.json({ path: '/openapi.json' })).data;
  } catch (error) {
    if (error.status !== 401 && error.status !== 403) throw error;
    await signIn(token() === null ? '' : error.message);
    return load();
  }
}

class Document {
  #document;

  constructor(document) {
    this.#document = document;
  }

  /** Follows a `$ref` within the document. */
  resolve(value) {
    if (!value?.$ref) return value;
    const names = value.$ref.slice(2).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    return names.reduce((place, name) => place?.[name], this.#document);
  }

  /** The operations by their tags, in the document's order: `[tag, [{method, path, operation}]]`. */
  get groups() {
    const groups = new Map((this.#document.tags ?? []).map((tag) => [tag.name, { tag, operations: [] }]));
    for (const [path, item] of Object.entries(this.#document.paths)) {
      for (const method of methods.filter((each) => item[each])) {
        const operation = item[method];
        const name = operation.tags?.[0] ?? 'other';
        if (!groups.has(name)) groups.set(name, { tag: { name }, operations: [] });
        groups.get(name).operations.push({ method, path, operation, shared: item.parameters ?? [] });
      }
    }
    return [...groups.values()].filter(({ operations }) => operations.length > 0);
  }

  /** A schema as text, its references written out. */
  schemaText(schema, depth = 0) {
    const name = schema?.$ref?.split('/').at(-1);
    const found = this.resolve(schema) ?? {};
    if (depth >= DEEPEST) return name ?? found.type ?? '…';
    const several = found.anyOf ?? found.oneOf;
    if (several) return several.map((each) => this.schemaText(each, depth + 1)).join(' | ');
    if (found.const !== undefined) return JSON.stringify(found.const);
    if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(' | ');
    if (found.properties) return this.#objectText(found, depth);
    if (found.type === 'array') return `[${this.schemaText(found.items ?? {}, depth + 1)}, …]`;
    return [[found.type ?? 'any'].flat().join(' | '), found.format && `(${found.format})`].filter(Boolean).join(' ');
  }

  #objectText({ properties, required = [] }, depth) {
    const indent = '  '.repeat(depth + 1);
    const lines = Object.entries(properties).map(([key, value]) =>
      `${indent}"${key}"${required.includes(key) ? '' : '?'}: ${this.schemaText(value, depth + 1)}`);
    return `{\n${lines.join(',\n')}\n${'  '.repeat(depth)}}`;
  }

  get info() {
    return this.#document.info;
  }
}

const idOf = ({ method, path }) => `${method}-${path.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '-')}`;
const methodMark = (method) => h('span', { class: `method is-${method}` }, method.toUpperCase());

function operationElement(document, entry) {
  const { method, path, operation } = entry;
  const body = h('div', { class: 'operation-body' });
  const fill = ({ target }) => target.open && body.childElementCount === 0 && fillOperation(body, document, entry);
  return h('details', { class: 'operation', id: idOf(entry), ontoggle: fill },
    h('summary', {}, methodMark(method), h('code', {}, path), h('span', { class: 'about' }, operation.summary ?? '')), body);
}

function fillOperation(parent, document, { operation, shared }) {
  const parameters = [...shared, ...(operation.parameters ?? [])].map((each) => document.resolve(each));
  replace(parent, operation.description && h('p', {}, sentence(operation.description)),
    parameters.length > 0 && [h('h3', {}, 'Parameters'), h('table', {}, parameters.map((each) => h('tr', {},
      h('td', {}, each.name, each.required && ' *'), h('td', {}, h('span', {}, each.in, ' · ', document.schemaText(each.schema, 2)),
        each.description && h('p', {}, sentence(each.description))))))],
    operation.requestBody && [h('h3', {}, 'Body'), content(document, document.resolve(operation.requestBody).content)],
    h('h3', {}, 'Answers'), Object.entries(operation.responses).map(([status, response]) => answer(document, status, response)));
}

function answer(document, status, response) {
  const { description, content: types } = document.resolve(response);
  const isProblem = Number(status) >= 400;
  return h('div', {}, h('p', {}, h('b', {}, status), ' ', description), !isProblem && types && content(document, types));
}

const content = (document, types = {}) => Object.entries(types).map(([type, { schema }]) =>
  h('pre', { class: 'code', tabindex: 0, 'aria-label': type }, `${type}\n${document.schemaText(schema)}`));

function render(document) {
  const { groups, info } = document;
  replace(window.document.getElementById('index'), groups.map(({ tag, operations }) => [h('h2', {}, tag.name),
    operations.map((entry) => h('a', { href: `#${idOf(entry)}` }, methodMark(entry.method), entry.path))]));
  replace(window.document.getElementById('document'), h('h1', {}, `${info.title} ${info.version}`),
    info.description && h('p', {}, sentence(info.description)), groups.map(({ tag, operations }) => [
      h('h2', {}, tag.name), tag.description && h('p', {}, sentence(tag.description)),
      operations.map((entry) => operationElement(document, entry))]));
}

/** A part of an address; what is not encoded well stays as it is. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** Opens the operation that the address names. */
function openTarget() {
  const target = document.getElementById(decoded(location.hash.slice(1)));
  if (target?.localName !== 'details') return;
  target.open = true;
  target.scrollIntoView();
}

startTheme();
startLinks(client.transport);
addEventListener('hashchange', openTarget);
try {
  render(new Document(await load()));
  openTarget();
} catch (error) {
  replace(document.getElementById('document'), h('p', { class: 'complaint', role: 'alert' }, error.message));
}
