// The panel that asks for a token, and the one that shows what the token may do.

import { connect } from '../livefetch.js';
import { h, replace, saveFile } from './dom.js';
import { inWords, keep, scopes, signOut, token } from './session.js';

const wrong = 'Wrong token: the server does not know it, or it has expired or was revoked.';
const noRead = 'The server knows this token, but it may not read. This page needs the scope read.';

const explanations = {
  read: 'see rows and follow them live', write: 'insert, change, delete rows',
  admin: 'read metrics and query plans' };

let shown = null;

/**
 * Asks for a token until the server accepts one; resolves to its scopes. Calls at the same time
 * share one panel.
 *
 * @param reason the text that the panel shows at first, if any.
 */
export function signIn(reason = '') {
  shown ??= ask(reason).finally(() => { shown = null; });
  return shown;
}

function ask(reason) {
  return new Promise((resolve) => {
    const complaint = h('p', { class: 'complaint', role: 'alert', hidden: !reason }, reason);
    const input = h('input', { class: 'field', type: 'password', name: 'token', required: true,
      autocomplete: 'current-password', autofocus: true });
    const submit = h('button', { class: 'button primary', type: 'submit' }, 'Sign in');
    const form = h('form', {},
      h('p', {}, 'This server needs a token: the server’s own, an API key or a JWT. It is kept until you close this tab.'),
      h('input', { type: 'text', name: 'username', autocomplete: 'username', value: 'LiveFetch', hidden: true }),
      h('label', { class: 'sign-in-field' }, h('span', {}, 'Token'), input), complaint,
      h('div', { class: 'dialog-actions' }, submit));
    const dialog = open('Sign in', form);
    let granted = null;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      submit.disabled = true;
      const answer = await attempt(input.value.trim());
      submit.disabled = false;
      complaint.hidden = !answer.complaint;
      complaint.textContent = answer.complaint ?? '';
      if (answer.complaint) return input.select();
      granted = answer.granted;
      return showGranted(dialog, granted);
    });
    // Without a token the page has nothing to show: Escape does not close the panel. Browsers let
    // a second Escape close it in spite of that.
    dialog.addEventListener('cancel', (event) => granted || event.preventDefault());
    dialog.addEventListener('close', () => {
      if (!granted) return dialog.showModal();
      dialog.remove();
      return resolve(granted);
    });
  });
}

/** Tries a token and keeps it if it is right: `{granted}` or `{complaint}`. */
async function attempt(value) {
  try {
    const granted = await scopes(connect('', { token: value }).transport);
    if (!granted.read) return { complaint: noRead };
    keep(value);
    return { granted };
  } catch (error) {
    return { complaint: error.status === 401 ? wrong : error.message };
  }
}

function open(title, ...content) {
  const dialog = h('dialog', { class: 'dialog sign-in', 'aria-label': title }, h('h2', {}, title), content);
  document.getElementById('dialogs').append(dialog);
  dialog.showModal();
  return dialog;
}

function showGranted(dialog, granted) {
  replace(dialog, h('h2', {}, 'Signed in'), scopeList(granted), h('div', { class: 'dialog-actions' },
    h('button', { class: 'button primary', type: 'button', onclick: () => dialog.close() }, 'Continue')));
  dialog.querySelector('.primary').focus();
}

function scopeList(granted) {
  return [h('p', {}, `This token may ${inWords(granted)}.`),
    h('ul', { class: 'scopes' }, Object.entries(explanations).map(([scope, text]) =>
      h('li', { class: granted[scope] ? 'is-granted' : '' }, h('span', { 'aria-hidden': 'true' }, granted[scope] ? '✓' : '–'),
        h('b', {}, scope), h('span', {}, granted[scope] ? text : `not allowed: ${text}`))))];
}

/**
 * Shows the button that leads to the scopes and to the end of the session, where there is one.
 *
 * @param leave resolves to whether the user agrees to lose what is not saved.
 */
export function showSession(granted, leave) {
  const button = document.getElementById('session');
  button.hidden = token() === null;
  button.title = `Signed in: the token may ${inWords(granted)}`;
  button.setAttribute('aria-label', button.title);
  button.onclick = () => {
    const dialog = open('Signed in', scopeList(granted), h('div', { class: 'dialog-actions' },
      h('button', { class: 'button', type: 'button', onclick: () => dialog.close() }, 'Close'),
      h('button', { class: 'button danger', type: 'button',
        onclick: async () => {
          if (!await leave()) return;
          signOut();
          location.reload();
        } }, 'Sign out')));
    dialog.addEventListener('close', () => dialog.remove());
  };
}

/** Links that need the token are fetched with it, and saved as files. */
export function startLinks(transport) {
  document.addEventListener('click', async (event) => {
    const link = event.target.closest?.('a[data-credential]');
    if (!link || token() === null) return;
    event.preventDefault();
    try {
      const response = await transport.send({ path: new URL(link.href).pathname });
      saveFile(await response.blob(), link.pathname.split('/').at(-1));
    } catch (error) {
      const dialog = open('The file was not loaded', h('p', { class: 'complaint', role: 'alert' }, error.message),
        h('div', { class: 'dialog-actions' }, h('button', { class: 'button', type: 'button', onclick: () => dialog.close() }, 'Close')));
      dialog.addEventListener('close', () => dialog.remove());
    }
  });
}
