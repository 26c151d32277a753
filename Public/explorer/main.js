// Starts the explorer: fetches the model, shows the view that the address names, and follows the feed of saves.

import { connect } from '../livefetch.js';
import * as address from './address.js';
import { startDrawers, startKeys, startTheme, startTooltips } from './chrome.js';
import { browserStorage } from './column-settings.js';
import { showConnection } from './connection.js';
import { Page } from './page.js';
import { Schema } from './schema.js';
import { watchSaves } from './saves.js';
import { scopes, token } from './session.js';
import { showSession, signIn, startLinks } from './sign-in.js';
import { todoEntity } from './todo-entity.js';

startTheme();
startTooltips();
const closeDrawers = startDrawers();

/** Sends the token of this tab, if there is one. `load` asks for a token only if the server refuses. */
const client = connect('', { token });
startLinks(client.transport);

/** Resolves to the scopes of the token; to all of them without a token. */
const grantedScopes = async () =>
  (token() === null ? { read: true, write: true, admin: true } : scopes(client.transport));

/**
 * Fetches the model, the answer of `GET /v1` and the scopes. Asks for a token if the server refuses the requests,
 * and repeats them after a transient error. Throws every other error.
 */
async function load() {
  try {
    return await Promise.all([client.model(), client.about(), grantedScopes()]);
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      showConnection('unauthorized');
      await signIn(token() === null ? '' : `The token kept for this tab is refused. ${error.message}`);
      return load();
    }
    showConnection(error.isTransient ? 'offline' : 'failed', error.message);
    if (!error.isTransient) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1000 * (error.retryAfter ?? 1.5)));
    return load();
  }
}

/** Shows the name of the file or database if the server reports it, the kind of store, and the server's version. */
function showStore({ database, store, version, readOnly }) {
  const parts = [database, `${store}${readOnly ? ', read only' : ''}`, `version ${version}`];
  document.getElementById('store').textContent = parts.filter(Boolean).join(' · ');
}

const [model, about, granted] = await load();
const schema = new Schema(model, browserStorage);
schema.isSample = about.sample;
const page = new Page(schema, { client, closeDrawers, about, mayWrite: granted.write });
showSession(granted, () => page.editing.leave());
showStore(about);
document.getElementById('todo-link').hidden = !schema.isSample || !todoEntity(schema.entities);

const fromAddress = () => address.read() ?? address.initial(schema);
page.go(fromAddress());
page.editing.resume();
addEventListener('popstate', () => page.go(fromAddress()));
page.count();
startKeys({
  save: () => page.editing.saving.save(), insert: () => page.editing.insert(),
  predicate: () => page.predicate.focus(), section: (step) => page.grid.stepSection(step) });
/** For the console: `livefetch.client.update('City', 1850147, { population: 1 })`. */
globalThis.livefetch = { client, page };
if (!about.readOnly) {
  watchSaves(client, about.token, {
    onReset: (newAbout, isSchemaChange) => page.renewed(newAbout, isSchemaChange),
    onUnauthorized: () => page.renew(),
    onSaves: (saves) => {
      page.inspector.savesChart.count(saves.length);
      page.counts.refresh(schema.changedBy(saves));
    } }).then(() => { page.hasFeed = false; });
}
