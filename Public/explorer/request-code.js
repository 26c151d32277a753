// A fetch request → the program that makes it, in JavaScript and in Swift.

import { clean } from '../livefetch/transport.js';

/** @param isLive true if the program follows the result. */
export function javascript(request, isLive, origin = location.origin) {
  const { count, ...fetch } = clean(request);
  const body = object({ ...fetch, ...(count ? { count } : {}) });
  const head = `import { connect } from '${origin}/livefetch.js';\n\nconst client = connect('${origin}');\n`;
  if (!isLive) return `${head}const { sections } = await client.fetch(${body});`;
  return `${head}client.live(${body}, {\n  onChange: ({ sections }) => console.log(sections) });`;
}

function object(values) {
  const lines = Object.entries(values).filter(([, value]) => value !== '' && value?.length !== 0)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? `[${value.map(literal).join(', ')}]` : literal(value)}`);
  return `{ ${lines.join(',\n  ')} }`;
}

const literal = (value) => (typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'` : String(value));

/** A results controller; dictionaries have none. */
export function swift(request, isLive, origin = location.origin) {
  const { entity, where, arguments: values = [], sort, section, limit, offset, as } = clean(request);
  if (as === 'dictionaries') return '// The Swift library gives objects: its manual is at /docs/swift.md.';
  const parts = [where && `where: FetchPredicate(${[where, ...values].map(text).join(', ')})`,
    sort?.length && `sortedBy: [${sorts(sort)}]`].filter(Boolean);
  const sections = section ? `,\n  sectionKeyPath: ${text(section.replace(/^-/, ''))}` : '';
  const store = `RemoteStore(URL(string: ${text(origin)})!${isLive ? ', transport: .stream' : ''})`;
  const window = [limit !== undefined && `request.fetchLimit = ${limit}`, offset && `request.fetchOffset = ${offset}`].filter(Boolean);
  return `import LiveFetch\n\nlet context = ManagedObjectContext(store: ${store})\n`
    + `var request = FetchRequest<${entity}>(${parts.length > 0 ? `\n  ${parts.join(',\n  ')}` : ''})\n`
    + window.map((line) => `${line}\n`).join('')
    + `let controller = FetchedResultsController(\n  fetchRequest: request, context: context${sections})\n`
    + 'try await controller.performFetch()\nfor await snapshot in controller.snapshots { draw(snapshot, controller.sections) }';
}

const sorts = (sort) => sort.map((term) =>
  `.${term.startsWith('-') ? 'descending' : 'ascending'}(${text(term.replace(/^-/, '').split(':')[0])})`).join(', ');

const text = (value) => `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
