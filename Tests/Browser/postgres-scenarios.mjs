// The page on a PostgreSQL database that another program has made.

import assert from 'node:assert/strict';
import { connect } from '../../Public/livefetch.js';
import { eventually } from './browser.mjs';
import { editInPanel, useEveryTool } from './hostile-scenarios.mjs';
import { columnTexts, isSaved, openCell, openPage, stagedValues, typeCell } from './pages.mjs';
import { Postgres } from './postgres.mjs';

const shop = `
  CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
  CREATE TABLE customer (customer_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), full_name text NOT NULL, email varchar(80) UNIQUE);
  CREATE TABLE "Order" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id uuid REFERENCES customer, placed timestamptz NOT NULL DEFAULT now(),
    total numeric(10, 2) NOT NULL, state state NOT NULL DEFAULT 'new', is_gift boolean, tags text[], details jsonb, scan bytea, day date);
  CREATE TABLE line (order_id bigint REFERENCES "Order", position int, product text NOT NULL, PRIMARY KEY (order_id, position));
  CREATE TABLE visit (at timestamptz, path text);
  CREATE TABLE nothing (id serial PRIMARY KEY, note text);
  CREATE TABLE "Every type" (key text PRIMARY KEY, "a b" text, small smallint, big bigint, precise numeric, single real, double double precision, flag boolean,
    at timestamp, at_zone timestamptz, day date, clock time, span interval, address inet, states state[], grid int[][], doc json, docb jsonb, data bytea,
    cash money, place point, range int4range, words tsvector, code char(3), bits bit(3));
  INSERT INTO "Every type" VALUES ('full', 'text', 1, 9223372036854775807, 12345678901234567890.123456789, 0.1, 'NaN', true, '2024-02-29 10:00', '2024-02-29 10:00+02',
    'infinity', '10:00', '1 day', '10.0.0.1', '{new,paid}', '{{1,2},{3,4}}', '{"a": 1}', '{"a": 1}', '\\x00ff', 1.5, '(1,2)', '[1,5)', 'a fat cat', 'ab', B'101'),
    ('empty', '', 0, -9223372036854775808, 0, 0, '-Infinity', false, '-infinity', '0044-03-15 BC', '0001-01-01', '24:00', '0', '::1', '{}', '{}', 'null', 'null', '',
    0, '(0,0)', 'empty', '', '', B'000');
  INSERT INTO "Every type" (key) VALUES ('null/?#');
  CREATE VIEW paid AS SELECT id, total FROM "Order" WHERE state = 'paid';
  INSERT INTO customer VALUES ('6fa459ea-ee8a-3ca4-894e-db77e160355e', 'Ada Adler', 'ada@example.com'),
    ('16fd2706-8baf-433b-82eb-8c7fada847da', 'Bo Berg', NULL);
  INSERT INTO "Order" (customer_id, placed, total, state, is_gift, tags, details, scan, day)
    SELECT (ARRAY['6fa459ea-ee8a-3ca4-894e-db77e160355e', '16fd2706-8baf-433b-82eb-8c7fada847da'])[1 + n % 2]::uuid,
      '2024-01-01'::timestamptz + n * interval '1 day', n * 1.25, (ARRAY['new', 'paid', 'sent'])[1 + n % 3]::state, n % 2 = 0,
      ARRAY['a', 'b"' || n], jsonb_build_object('n', n), '\\x00ff', '2024-02-29' FROM generate_series(1, 60) n;
  INSERT INTO "Order" (total) VALUES (0);
  INSERT INTO line VALUES (1, 1, 'Pen'), (1, 2, 'Ink'), (2, 1, 'Paper');
  INSERT INTO visit VALUES ('2024-01-01', '/'), (NULL, NULL);`;

const shows = (page, column, ...texts) => eventually(async () => (await page.run(columnTexts, column)).slice(0, texts.length), texts,
  `${column} begins with ${texts}`);

async function ownDatabase({ browser, server, shoot }) {
  const postgres = await Postgres.start();
  if (!postgres) return 'PostgreSQL is not installed';
  try {
    postgres.run(shop);
    await server.kill('SIGTERM');
    server.isSample = false;
    server.file = postgres.address;
    await server.begin();
    await orders({ browser, server, shoot, postgres });
    await tools({ browser, server, shoot, postgres });
    await server.kill('SIGTERM');
  } finally {
    await postgres.end();
  }
  return 'served by a PostgreSQL of its own';
}

/** Filters, sorts, edits a cell, and sees what psql and another client change. */
async function orders({ browser, server, shoot, postgres }) {
  const page = await openPage(browser, `${server.address}/?entity=Order&sort=id`, { width: 1920, height: 1080 });
  assert.equal(await page.run(() => globalThis.livefetch.page.live.state), 'live');
  await shows(page, 'total', '1.25', '2.5', '3.75');
  await shows(page, 'customer', 'Bo Berg', 'Ada Adler');
  await page.run(() => document.querySelector('#where').focus());
  await page.type("state == 'paid' AND customer.full_name == 'Ada Adler'");
  await page.key('Enter');
  await page.until(() => globalThis.livefetch.page.live.current?.total === 10, { what: 'ten orders are found' });
  await page.run(() => document.querySelector('.head-cell[data-column=total] .head-name').click());
  await shows(page, 'total', '5', '12.5');
  await page.run(() => document.querySelector('.head-cell[data-column=total] .head-name').click());
  await shows(page, 'total', '72.5', '65');
  await edited(page, postgres);
  postgres.run('UPDATE "Order" SET total = 99.9 WHERE id = 4');
  await shows(page, 'total', '99.9', '80.25', '65');
  await connect(server.address).update('Order', 10, { total: 98 });
  await shows(page, 'total', '99.9', '98', '80.25');
  postgres.run('INSERT INTO customer (full_name) VALUES (\'Cy\'); DELETE FROM "Order" WHERE id = 4');
  await shows(page, 'total', '98', '80.25');
  await shoot(page, 'postgres');
  await page.close();
}

async function edited(page, postgres) {
  await typeCell(page, 58, 'total', '80.25');
  await page.key('Enter');
  assert.deepEqual(await page.run(stagedValues), [{ total: 80.25 }]);
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  postgres.run("DO $$ BEGIN ASSERT (SELECT total FROM \"Order\" WHERE id = 58) = 80.25, 'the save is stored'; END $$");
}

/** Every table has the same tools; one without a key, and a view, are shown without being live. */
async function tools({ browser, server, shoot, postgres }) {
  for (const [entity, count, state] of [['Every type', 3, 'live'], ['customer', 3, 'live'], ['line', 3, 'live'], ['visit', 2, 'plain'], ['nothing', 0, 'live']]) {
    const page = await openPage(browser, `${server.address}/?entity=${encodeURIComponent(entity)}`, { width: 1920, height: 1080, scheme: 'dark' });
    assert.equal(await page.run(() => globalThis.livefetch.page.live.state), state, entity);
    if (count > 0) await useEveryTool(page, entity, count);
    if (entity === 'Every type') await editInPanel(page, server, { entity, id: 'null/?#', column: 'a b' });
    if (entity === 'Every type') await longNumbers(page, postgres);
    await shoot(page, `postgres-${entity.replace(' ', '-')}`);
    await page.close();
  }
}

/** A number of more digits than JavaScript has is shown in full, is edited, and is no matter for other columns. */
async function longNumbers(page, postgres) {
  const holds = (condition) => postgres.run(`DO $$ BEGIN ASSERT (SELECT ${condition} FROM "Every type" WHERE key = 'full'), '${condition.replaceAll("'", "''")}'; END $$`);
  await page.run(() => globalThis.livefetch.page.rowPanel.close());
  await page.run(() => globalThis.livefetch.page.change({ where: '', sort: 'id' }));
  await shows(page, 'precise', '0', '12345678901234567890.123456789', 'NULL');
  await shows(page, 'big', '-9223372036854775808', '9223372036854775807', 'NULL');
  for (const column of ['precise', 'big', 'docb']) {
    await openCell(page, 'full', column);
    await page.key('Enter');
    await page.until(() => document.querySelector('.editor') === null);
  }
  assert.deepEqual(await page.run(stagedValues), []);
  for (const [column, text] of [['precise', '98765432109876543210.0123456789'], ['big', '9223372036854775806'], ['docb', '{"a": 0.12345678901234567890, "b": 12345678901234567890}']]) {
    await typeCell(page, 'full', column, text);
    await page.key('Enter');
    await page.until(() => document.querySelector('.editor') === null);
  }
  await page.key('s', { ctrl: true });
  await page.until(isSaved, { what: 'the long numbers are saved' });
  holds('precise = 98765432109876543210.0123456789 AND big = 9223372036854775806');
  holds('docb::text = \'{"a": 0.12345678901234567890, "b": 12345678901234567890}\'');
  await typeCell(page, 'full', 'small', '7');
  await page.key('Enter');
  await page.key('s', { ctrl: true });
  await page.until(isSaved);
  holds('small = 7 AND precise = 98765432109876543210.0123456789');
  await page.run(() => globalThis.livefetch.page.change({ where: 'precise == 98765432109876543210.0123456789' }));
  await shows(page, 'precise', '98765432109876543210.0123456789');
  await page.run(() => globalThis.livefetch.page.change({ where: '' }));
  await shows(page, 'big', '-9223372036854775808', '9223372036854775806', 'NULL');
}

export const postgresScenarios = {
  'a PostgreSQL database of somebody else is filtered, sorted, edited and live': { run: ownDatabase },
};
