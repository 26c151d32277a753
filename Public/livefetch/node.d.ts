// Types of node.js.

import type { Storage } from '../livefetch.js';

/** A storage in files of a directory, which is made where it is missing. */
export function fileStorage(directory: string): Storage;
