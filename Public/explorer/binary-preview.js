// A binary value in the row panel: a picture, or else its first bytes; to download and to replace.

import { h, replace, saveFile } from './dom.js';
import { bytes, isBase64, number } from './format.js';

/** The first bytes of the kinds of pictures that browsers decode. */
const pictures = [['png', [0x89, 0x50, 0x4e, 0x47]], ['jpeg', [0xff, 0xd8, 0xff]],
  ['gif', [0x47, 0x49, 0x46, 0x38]], ['webp', [0x52, 0x49, 0x46, 0x46]], ['bmp', [0x42, 0x4d]]];
const DUMPED = 96;
const LARGEST = { width: 320, height: 240 };

/**
 * @param value base64, null, or what else is stored in the column.
 * @param options `commit(value)` takes another value; null where the row is read-only. `stored()` resolves to the
 * value's bytes as the server has them, and `isText()` to whether it is a text there, which may look like base64;
 * null where the value is not saved yet.
 */
export function binaryPreview(column, value, { commit, stored, isText }) {
  const element = h('div', { class: 'binary' });
  const data = decoded(value);
  const draw = (content) => replace(element, parts(column, value, content, { commit, stored }));
  draw(data);
  if (data && pictureKind(data) === undefined && isText) isText().then((is) => is && draw(null), () => {});
  return element;
}

const pictureKind = (data) => pictures.find(([, start]) => start.every((byte, index) => data[index] === byte))?.[0];

/** @param data the bytes; null for what is none. */
function parts(column, value, data, { commit, stored }) {
  const text = data === null && value !== null && value !== undefined ? String(value) : null;
  const kind = data && pictureKind(data);
  const about = data ? `${kind ? `${kind.toUpperCase()}, ` : ''}${bytes(data.length)}`
    : text === null ? 'NULL' : typeof value === 'string' ? `text of ${number([...text].length)} characters` : 'not binary';
  return [data && (kind ? picture(data, column.name) : dump(data)),
    text !== null && h('pre', { class: 'code is-text', tabindex: 0, 'aria-label': 'Text' }, text),
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
function picture(data, name) {
  const canvas = h('canvas', { role: 'img', 'aria-label': `${name} as a picture`, width: 1, height: 1 });
  createImageBitmap(new Blob([data])).then((image) => {
    const scale = Math.min(1, LARGEST.width / image.width, LARGEST.height / image.height);
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  }, () => canvas.replaceWith(dump(data)));
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

/** Saves what is stored, which may be a text that looks like base64; what is not saved yet, or cannot be read, as it is shown. */
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
