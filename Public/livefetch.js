/* @ts-self-types="./livefetch.d.ts" */
// LiveFetch for JavaScript: an ES module without dependencies, for browsers and Node 20 or later.
//
//     import { connect } from './livefetch.js';
//
//     const client = connect();                           // of the server that serves the page
//     const live = client.live(
//       { entity: 'City', where: 'population >= 1000000', sort: '-population' },
//       { onChange: ({ sections }) => draw(sections) });
//     await client.update('City', 1850147, { population: 9800000 });
//
// `onChange` is called with the snapshot, at once after each save of this client, and whenever
// somebody else's save changes the result. The types are in `livefetch.d.ts`.

export { connect } from './livefetch/client.js';
export { advance, apply, idOf, isEmptyDiff, OutOfStep } from './livefetch/apply.js';
export { digest, fnv1a } from './livefetch/digest.js';
export { Decimal } from './livefetch/json.js';
export { indexedDBStorage, memoryStorage } from './livefetch/storage.js';
export { isPending } from './livefetch/overlay.js';
export { LiveFetchError, route } from './livefetch/transport.js';
