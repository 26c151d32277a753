// A binary value in the row panel: a picture, or else its first bytes; to download and to replace.

import { h, replace, saveFile } from './dom.js';
import { beginning, bytes, isBase64, LONG, number } from './format.js';

/** The first bytes of the kinds of pictures that browsers decode; in BMP the file's size and four zeros follow. */
const pictures = [['png', /^\x89PNG\r\n/], ['jpeg', /^\xff\xd8\xff/], ['gif', /^GIF8[79]a/], ['webp', /^RIFF.{4}WEBP/s], ['bmp', /^BM.{4}\0{4}/s]];
const LONGEST_START = 12;
const DUMPED = 96;
const LARGEST = { width: 320, height: 240 };

/**
 * @param value base64, null, or a stored value of another type.
 * @param options `commit(value)` receives the new value; null if the row is read-only. `stored()` resolves to the stored
 * bytes. `isText()` resolves to true if the stored value is text that only looks like base64. Both are null if the value
 * is not saved yet.
 */
export function binaryPreview(column, value, { commit, stored, isText }) {
  const element = h('div', { class: 'binary' });
  const data = decoded(value);
  const draw = (content, picture) => replace(element, parts(column, value, content, { ...picture, commit, stored }));
  const drawBytes = () => {
    draw(data);
    if (data && isText) isText().then((is) => is && draw(null), () => {});
  };
  const kind = data && pictureKind(data);
  if (kind) draw(data, { kind, onRefused: drawBytes });
  else drawBytes();
  return element;
}

/** The kind of picture that the bytes begin like; undefined for others. */
export function pictureKind(data) {
  const start = String.fromCharCode(...data.subarray(0, LONGEST_START));
  return pictures.find(([, pattern]) => pattern.test(start))?.[0];
}

/**
 * @param data the bytes; null if the value is not base64.
 * @param options `kind` of a picture; `onRefused` is called if the browser cannot decode it.
 */
function parts(column, value, data, { kind, onRefused, commit, stored }) {
  const text = data === null && value !== null && value !== undefined ? String(value) : null;
  const about = data ? `${kind ? `${kind.toUpperCase()}, ` : ''}${bytes(data.length)}`
    : text === null ? 'NULL' : typeof value === 'string' ? `text of ${number([...text].length)} characters` : 'not binary';
  return [data && (kind ? picture(data, column.name, onRefused) : dump(data)),
    text !== null && h('pre', { class: 'code is-text', tabindex: 0, 'aria-label': 'Text' }, beginning(text, LONG)),
    h('p', { class: 'binary-line' }, h('span', {}, about),
      about !== 'NULL' && h('button', { class: 'text-button', type: 'button',
        onclick: () => download(data ?? text, `${column.name}.${kind ?? (data ? 'bin' : 'txt')}`, stored) }, 'Download'),
      commit && h('label', { class: 'text-button file-button' }, about !== 'NULL' ? 'Replace …' : 'Choose a file …', filePicker(column, commit)),
      commit && column.optional && value !== null && h('button', { class: 'null-switch', type: 'button',
        onclick: () => commit(null) }, 'NULL'))];
}

function decoded(value) {
  if (typeof value !== 'string' || !isBase64(value)) return null;
  return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
}

/** Drawn on a canvas: the page's policy allows no pictures from memory. */
function picture(data, name, onRefused) {
  const canvas = h('canvas', { role: 'img', 'aria-label': `${name} as a picture`, width: 1, height: 1 });
  createImageBitmap(new Blob([data])).then((image) => {
    const scale = Math.min(1, LARGEST.width / image.width, LARGEST.height / image.height);
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  }, onRefused);
  return canvas;
}

function dump(data) {
  const lines = [];
  for (let start = 0; start < Math.min(DUMPED, data.length); start += 8) {
    const row = [...data.subarray(start, Math.min(start + 8, DUMPED))];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${hex.padEnd(24)} ${text}`);
  }
  if (data.length > DUMPED) lines.push('…');
  return data.length > 0 && h('pre', { class: 'code', tabindex: 0, 'aria-label': 'First bytes' }, lines.join('\n'));
}

/** Downloads the stored bytes; the shown value if nothing is stored yet or reading fails. */
async function download(shown, name, stored) {
  saveFile(stored === null ? new Blob([shown]) : await stored().catch(() => new Blob([shown])), name);
}

function filePicker(column, commit) {
  const read = async ({ target }) => {
    const [file] = target.files;
    if (file) commit(base64(new Uint8Array(await file.arrayBuffer())));
  };
  return h('input', { type: 'file', 'aria-label': `A file for ${column.name}`, onchange: read });
}

function base64(data) {
  let text = '';
  for (let start = 0; start < data.length; start += 0x8000) {
    text += String.fromCharCode(...data.subarray(start, start + 0x8000));
  }
  return btoa(text);
}
