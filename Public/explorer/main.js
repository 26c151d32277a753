// Starts the explorer: the model, the view in the address, the feed of saves.

import { connect } from '../livefetch.js';
import * as address from './address.js';
import { startDrawers, startKeys, startTheme } from './chrome.js';
import { showConnection } from './connection.js';
import { Page } from './page.js';
import { Schema } from './schema.js';
import { watchSaves } from './saves.js';

startTheme();
const closeDrawers = startDrawers();

/** The page asks for a token only where the server wants one; it is kept for the window's life. */
const client = connect('', { token: () => sessionStorage.getItem('livefetch-token') });

async function load() {
  try {
    return await Promise.all([client.model(), client.about()]);
  } catch (error) {
    if (error.status === 401) {
      const token = prompt('This server needs a bearer token.');
      if (token) {
        sessionStorage.setItem('livefetch-token', token);
        return load();
      }
    }
    showConnection(error.status === 0 ? 'offline' : 'failed', error.message);
    if (error.status !== 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return load();
  }
}

function describe({ store, version, readOnly }) {
  const text = `${store}${readOnly ? ', read only' : ''} · version ${version}`;
  document.getElementById('store').textContent = text;
}

const [model, about] = await load();
const schema = new Schema(model);
const page = new Page(schema, { client, closeDrawers, storeIsReadOnly: about.readOnly });
describe(about);
document.getElementById('todo-link').hidden = !schema.isSample;

const fromAddress = () => address.read() ?? address.initial(schema);
page.go(fromAddress());
addEventListener('popstate', () => page.go(fromAddress()));
page.count();
startKeys({
  save: () => page.editing.saving.save(), insert: () => page.editing.insert(),
  predicate: () => page.predicate.focus(), section: (step) => page.grid.stepSection(step) });
/** For the console: `livefetch.client.update('City', 1850147, { population: 1 })`. */
globalThis.livefetch = { client, page };
if (!about.readOnly) {
  watchSaves(client, about.token, { onReset: () => page.reload(),
    onSaves: (count) => page.inspector.savesChart.count(count) });
}
