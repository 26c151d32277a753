// Kinds of pictures by their first bytes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictureKind } from '../../../Public/explorer/binary-preview.js';

test('a picture is recognized by its first bytes', () => {
  const kindOf = (text) => pictureKind(Buffer.from(text, 'latin1'));
  const starts = [['\x89PNG\r\n\x1a\n', 'png'], ['\xff\xd8\xff\xe0', 'jpeg'], ['GIF89a\x01', 'gif'], ['RIFF\x24\n\0\0WEBPVP8 ', 'webp'],
    ['BM\x46\n\0\0\0\0\0\0\x36\0', 'bmp'], ['RIFF\x24\0\0\0WAVEfmt ', undefined], ['RIFF\x24\0\0\0AVI LIST', undefined],
    ['BMW 320i Touring', undefined], ['BM', undefined], ['', undefined]];
  for (const [start, kind] of starts) assert.equal(kindOf(start), kind, JSON.stringify(start));
});
