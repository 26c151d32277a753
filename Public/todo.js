// A shared to-do list. It takes the first entity that looks like one (a text, and a yes or no);
// where the model has none it shows a note and lists the first entity that can be edited by its name.

import { connect, isPending } from './livefetch.js';
import { startTheme } from './explorer/chrome.js';
import { token } from './explorer/session.js';
import { namedEntities, todoEntity } from './explorer/todo-entity.js';

startTheme();
const at = (id) => document.getElementById(id);
const connection = { state: 'connecting', error: null, waiting: 0, unstored: 0 };
const client = connect('', { token, offline: true,
  onQueue: (waiting, _, unstored) => showConnection({ waiting, unstored }),
  onRefused: ({ message, errors }) => note(errors[0]?.detail ?? message) });
const list = await choose().catch(({ status, message }) => note(
  status === 401 ? 'This server needs a token: sign in on the explorer page, then open this page again.' : message));
if (list) start(list);

/** `{entity, text, done, isTodo}`: names of the entity and its attributes, `done` may be missing. */
async function choose() {
  const { entities } = await client.model();
  const todo = todoEntity(entities);
  if (todo) return { ...todo, isTodo: true };
  const lists = namedEntities(entities);
  note(lists.length === 0
    ? 'The model that is served here has nothing that can be edited by name.'
    : `The model has no to-do entity (a text and a yes or no), so this is ${lists[0].entity}, the
       newest first, to rename and to try. With CREATE TABLE todo (id INTEGER PRIMARY KEY,
       title TEXT NOT NULL, done BOOLEAN NOT NULL DEFAULT 0) it becomes a list.`);
  return lists[0];
}

function start({ entity, text, done, needed, isTodo }) {
  at('title').textContent = isTodo ? 'To-do' : entity;
  // An entry of another entity would lack what that entity requires.
  at('add').hidden = needed.some((name) => name !== text && name !== done);
  const request = { entity, sort: done ? `${done},-id` : '-id', limit: 200 };
  client.live(request, {
    // After what waits for the answer of an insert: a row is then known by its new id.
    onChange: ({ sections }) => setTimeout(() => draw(sections[0].items)),
    onState: (state, error) => showConnection({ state, error }) });
  at('add').addEventListener('submit', (event) => {
    event.preventDefault();
    const value = at('new').value.trim();
    at('new').value = '';
    if (value) insert(done ? { [text]: value, [done]: false } : { [text]: value });
  });

  function insert(values) {
    const temporaryID = client.temporaryID();
    client.save([{ insert: entity, temporaryID, values }]).then(({ ids }) => rename(temporaryID, String(ids[temporaryID])), () => {});
  }

  /** Keeps the row, in which somebody may type, when the entry gets its id. */
  function rename(temporaryID, id) {
    const [row, double] = [temporaryID, id].map((each) => [...at('list').children].find(({ dataset }) => dataset.id === each));
    if (!row) return;
    double?.remove();
    row.dataset.id = id;
  }

  function draw(items) {
    const list = at('list');
    const rows = new Map([...list.children].map((row) => [row.dataset.id, row]));
    const wanted = items.map((item) => fill(rows.get(String(item.id)) ?? row(String(item.id)), item));
    let next = null;
    for (const element of wanted.reverse()) {
      // The others are moved around the row that is being typed in: it would lose the focus and the text.
      const isStill = element.contains(document.activeElement);
      while (isStill && element.nextSibling !== next) list.insertBefore(element.nextSibling, element);
      if (element.parentNode !== list || element.nextSibling !== next) list.insertBefore(element, next);
      next = element;
    }
    while (list.children.length > wanted.length) list.firstChild.remove();
    at('left').textContent = done ? `${items.filter((item) => !item[done]).length} left.` : '';
  }

  function row(id) {
    const element = document.createElement('li');
    const [check, field, remove] = ['input', 'input', 'button'].map((tag) => document.createElement(tag));
    Object.assign(check, { type: 'checkbox', hidden: !done, ariaLabel: 'Done' });
    Object.assign(field, { className: 'text', ariaLabel: 'Entry' });
    Object.assign(remove, { textContent: '×', ariaLabel: 'Delete', hidden: !isTodo });
    const key = () => element.item.id;
    check.onchange = () => client.update(entity, key(), { [done]: check.checked });
    field.onchange = () => client.update(entity, key(), { [text]: field.value });
    field.onkeydown = (event) => event.key === 'Enter' && !event.isComposing && field.blur();
    remove.onclick = () => client.delete(entity, key());
    element.append(check, field, remove);
    element.dataset.id = id;
    return element;
  }

  function fill(element, item) {
    const [check, field] = element.children;
    element.item = item;
    element.classList.toggle('is-done', !!item[done]);
    element.classList.toggle('is-pending', isPending(item));
    check.checked = !!item[done];
    if (field !== document.activeElement) field.value = item[text] ?? '';
    return element;
  }
}

function note(text) {
  at('note').hidden = false;
  at('note').textContent = text;
}

function showConnection(news) {
  Object.assign(connection, news);
  const { state, error, waiting, unstored } = connection;
  at('connection').dataset.state = state;
  const isOffline = state === 'offline' && waiting > 0;
  const unsafe = unstored > 0 ? `, ${unstored} of them only in this page` : '';
  at('state').textContent = isOffline ? `offline, ${waiting} to send${unsafe}` : error?.message ?? state;
}
