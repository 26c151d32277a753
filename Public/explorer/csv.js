// Comma-separated values (RFC 4180) ↔ rows. NULL is an empty field, an empty text is "".

/** Rows of fields as text. @param rows arrays of texts; null and undefined are NULL. */
export function csvText(rows) {
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

function field(value) {
  if (value === null || value === undefined) return '';
  const text = String(value);
  return text === '' || /[",\r\n;\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A text as rows of fields: `{text, isQuoted}`. Commas, semicolons or tabs separate, whichever the
 * first line has most of.
 */
export function parseCSV(source) {
  const text = source.replace(/^\uFEFF/, '');
  const separator = separatorOf(text);
  const pattern = new RegExp(`"((?:[^"]|"")*)"|([^${separator}\\r\\n"][^${separator}\\r\\n]*)|(${separator})|(\\r\\n|\\n|\\r)`, 'g');
  const rows = [[]];
  let isOpen = true;
  const empty = { text: '', isQuoted: false };
  for (const [, quoted, plain, comma, end] of text.matchAll(pattern)) {
    if (quoted !== undefined) rows.at(-1).push({ text: quoted.replaceAll('""', '"'), isQuoted: true });
    else if (plain !== undefined) rows.at(-1).push({ text: plain, isQuoted: false });
    else if (isOpen) rows.at(-1).push(empty);
    if (end !== undefined) rows.push([]);
    isOpen = comma !== undefined || end !== undefined;
  }
  if (isOpen && rows.at(-1).length > 0) rows.at(-1).push(empty);
  return rows.filter((row) => row.length > 1 || (row.length === 1 && row[0] !== empty));
}

function separatorOf(text) {
  const line = /^(?:"(?:[^"]|"")*"|[^\r\n"])*/.exec(text)[0].replace(/"(?:[^"]|"")*"/g, '');
  const count = (separator) => line.split(separator).length;
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best), ',');
}
