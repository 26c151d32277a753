// Comma-separated values (RFC 4180) ↔ rows. NULL is an empty field, an empty text is "".

/** The characters of a file that decide which separator it has. */
const HEAD = 65_536;

/** Rows of fields as text. @param rows arrays of texts; null and undefined are NULL, `{text, isQuoted: true}` is always in quotes. */
export function csvText(rows) {
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

function field(value) {
  if (value === null || value === undefined) return '';
  const text = String(value.text ?? value);
  return value.isQuoted || text === '' || /[",\r\n;\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A text as `{rows, problems}`: each row is `{line, fields}`, a field `{text, isQuoted}`, a problem a
 * sentence with its line. Commas, semicolons or tabs separate, whichever the first line has most of
 * in its first 64 KiB.
 */
export function parseCSV(source) {
  const text = source.replace(/^\uFEFF/, '');
  const reader = new Reader(text, separatorOf(text));
  const rows = [];
  while (!reader.isDone) rows.push(reader.row());
  const isBlank = ({ fields: [first, ...others] }) => others.length === 0 && first.text === '' && !first.isQuoted;
  // In a file of one column an empty line is NULL.
  const isOne = rows[0]?.fields.length === 1;
  return { rows: rows.filter((row) => isOne || !isBlank(row)), problems: reader.problems };
}

class Reader {
  problems = [];
  #text;
  #separator;
  #plain;
  #at = 0;
  #line = 1;

  constructor(text, separator) {
    this.#text = text;
    this.#separator = separator;
    this.#plain = new RegExp(`[^${separator}\\r\\n]*`, 'y');
  }

  get isDone() {
    return this.#at >= this.#text.length;
  }

  row() {
    const row = { line: this.#line, fields: [this.#field()] };
    while (this.#text[this.#at] === this.#separator) {
      this.#at += 1;
      row.fields.push(this.#field());
    }
    this.#at += this.#text.startsWith('\r\n', this.#at) ? 2 : 1;
    this.#line += 1;
    return row;
  }

  #field() {
    return this.#text[this.#at] === '"' ? this.#quoted() : { text: this.#rest(), isQuoted: false };
  }

  /** Up to the next separator or the end of the line. */
  #rest() {
    this.#plain.lastIndex = this.#at;
    const [text] = this.#plain.exec(this.#text);
    this.#at += text.length;
    return text;
  }

  #quoted() {
    const line = this.#line;
    const start = this.#at + 1;
    let end = this.#text.indexOf('"', start);
    while (end >= 0 && this.#text[end + 1] === '"') end = this.#text.indexOf('"', end + 2);
    if (end < 0) this.problems.push(`Line ${line}: a quote is opened and never closed.`);
    const text = this.#text.slice(start, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end + 1;
    this.#line += text.match(/\r\n|\n|\r/g)?.length ?? 0;
    const behind = this.#rest().trim();
    if (behind !== '') this.problems.push(`Line ${this.#line}: “${behind.slice(0, 20)}” stands behind a closing quote; within a text in quotes a quote is written twice.`);
    return { text: text.replaceAll('""', '"'), isQuoted: true };
  }
}

/** The bytes of a file as `{text, problems}`. */
export function decoded(bytes) {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), problems: [] };
  } catch {
    const text = new TextDecoder().decode(bytes);
    const line = text.slice(0, text.indexOf('\uFFFD')).split(/\r\n|\n|\r/).length;
    return { text, problems: [`Line ${line}: the file is not UTF-8. Save it as UTF-8 where it was made.`] };
  }
}

function separatorOf(text) {
  const quoted = /(^|[,;\t])"(?:[^"]|"")*(?:"|$)/g;
  const [line] = text.slice(0, HEAD).replace(quoted, '$1').split(/[\r\n]/, 1);
  const count = (separator) => line.split(separator).length;
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best), ',');
}
