// The tools of the page on the schema of Chinook, with rows of our own.

import assert from 'node:assert/strict';
import { useEveryTool } from './hostile-scenarios.mjs';
import { columnTexts, openPage } from './pages.mjs';

const chinook = `
  CREATE TABLE Artist (ArtistId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
  CREATE TABLE Album (AlbumId INTEGER NOT NULL PRIMARY KEY, Title NVARCHAR(160) NOT NULL,
    ArtistId INTEGER NOT NULL REFERENCES Artist (ArtistId));
  CREATE TABLE Genre (GenreId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
  CREATE TABLE MediaType (MediaTypeId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
  CREATE TABLE Playlist (PlaylistId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
  CREATE TABLE Employee (EmployeeId INTEGER NOT NULL PRIMARY KEY, LastName NVARCHAR(20) NOT NULL, FirstName NVARCHAR(20) NOT NULL,
    Title NVARCHAR(30), ReportsTo INTEGER REFERENCES Employee (EmployeeId), BirthDate DATETIME, HireDate DATETIME, Address NVARCHAR(70),
    City NVARCHAR(40), State NVARCHAR(40), Country NVARCHAR(40), PostalCode NVARCHAR(10), Phone NVARCHAR(24), Fax NVARCHAR(24),
    Email NVARCHAR(60));
  CREATE TABLE Customer (CustomerId INTEGER NOT NULL PRIMARY KEY, FirstName NVARCHAR(40) NOT NULL, LastName NVARCHAR(20) NOT NULL,
    Company NVARCHAR(80), Country NVARCHAR(40), Email NVARCHAR(60) NOT NULL, SupportRepId INTEGER REFERENCES Employee (EmployeeId));
  CREATE TABLE Invoice (InvoiceId INTEGER NOT NULL PRIMARY KEY, CustomerId INTEGER NOT NULL REFERENCES Customer (CustomerId),
    InvoiceDate DATETIME NOT NULL, BillingCountry NVARCHAR(40), Total NUMERIC(10,2) NOT NULL);
  CREATE TABLE Track (TrackId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(200) NOT NULL, AlbumId INTEGER REFERENCES Album (AlbumId),
    MediaTypeId INTEGER NOT NULL REFERENCES MediaType (MediaTypeId), GenreId INTEGER REFERENCES Genre (GenreId), Composer NVARCHAR(220),
    Milliseconds INTEGER NOT NULL, Bytes INTEGER, UnitPrice NUMERIC(10,2) NOT NULL);
  CREATE TABLE InvoiceLine (InvoiceLineId INTEGER NOT NULL PRIMARY KEY, InvoiceId INTEGER NOT NULL REFERENCES Invoice (InvoiceId),
    TrackId INTEGER NOT NULL REFERENCES Track (TrackId), UnitPrice NUMERIC(10,2) NOT NULL, Quantity INTEGER NOT NULL);
  CREATE TABLE PlaylistTrack (PlaylistId INTEGER NOT NULL REFERENCES Playlist (PlaylistId),
    TrackId INTEGER NOT NULL REFERENCES Track (TrackId), PRIMARY KEY (PlaylistId, TrackId));
  CREATE INDEX IFK_TrackAlbumId ON Track (AlbumId);
  INSERT INTO Artist VALUES (1, 'The Fixtures'), (2, 'Nulls and Voids'), (3, NULL);
  INSERT INTO Album VALUES (1, 'First Rows', 1), (2, 'Second Pages', 1), (3, 'Empty Sets', 2);
  INSERT INTO Genre VALUES (1, 'Rock'), (2, 'Jazz');
  INSERT INTO MediaType VALUES (1, 'MPEG audio file');
  INSERT INTO Playlist VALUES (1, 'Music'), (2, 'Quiet');
  INSERT INTO Employee (EmployeeId, LastName, FirstName, Title, ReportsTo, BirthDate, HireDate) VALUES
    (1, 'Adler', 'Ada', 'General Manager', NULL, '1962-02-18 00:00:00', '2002-08-14 00:00:00'),
    (2, 'Berg', 'Bo', 'Sales Manager', 1, '1958-12-08 00:00:00', '2002-05-01 00:00:00');
  INSERT INTO Customer VALUES (1, 'Cleo', 'Cruz', NULL, 'Brazil', 'cleo@example.com', 2), (2, 'Dan', 'Dietz', 'Dietz AG', 'Germany', 'dan@example.com', 2);
  INSERT INTO Invoice VALUES (1, 1, '2009-01-01 00:00:00', 'Brazil', 1.98), (2, 2, '2009-01-02 00:00:00', 'Germany', 0.99);
  INSERT INTO Track VALUES (1, 'One', 1, 1, 1, 'A. Writer', 343719, 11170334, 0.99), (2, 'Two', 1, 1, 2, NULL, 342562, 5510424, 0.99),
    (3, 'Three', 3, 1, NULL, NULL, 230619, NULL, 1.99);
  INSERT INTO InvoiceLine VALUES (1, 1, 1, 0.99, 1), (2, 1, 2, 0.99, 1), (3, 2, 2, 0.99, 1);
  INSERT INTO PlaylistTrack VALUES (1, 1), (1, 2), (2, 3);`;

const counts = { Artist: 3, Album: 3, Genre: 2, MediaType: 1, Playlist: 2, Employee: 2, Customer: 2, Invoice: 2, Track: 3, InvoiceLine: 3 };

async function everyTable({ browser, server, shoot }) {
  for (const [entity, count] of Object.entries(counts)) {
    const page = await openPage(browser, `${server.address}/?entity=${entity}`, { width: 1920, height: 1080 });
    await useEveryTool(page, entity, count);
    await shoot(page, `chinook-${entity}`);
    await page.close();
  }
}

/** Rows are called by what people call them, and a to-one relationship to the own table as well. */
async function relatedLabels({ browser, server }) {
  for (const [entity, column, expected] of [
    ['Album', 'Artist', ['The Fixtures', 'The Fixtures', 'Nulls and Voids']],
    ['Track', 'Album', ['First Rows', 'First Rows', 'Empty Sets']],
    ['Employee', 'ReportsTo', ['NULL', 'Ada Adler']],
    ['Customer', 'SupportRep', ['Bo Berg', 'Bo Berg']],
    ['Invoice', 'Customer', ['Cleo Cruz', 'Dan Dietz']],
    ['InvoiceLine', 'Track', ['One', 'Two', 'Two']],
  ]) {
    const page = await openPage(browser, `${server.address}/?entity=${entity}&sort=${entity}Id`, { width: 1920, height: 1080 });
    await page.until((found, name) => document.querySelectorAll('.row').length === found
      && globalThis.livefetch.page.grid.columns.some((one) => one.name === name), { args: [expected.length, column] });
    assert.deepEqual(await page.run(columnTexts, column), expected, `${entity}.${column}`);
    await page.close();
  }
}

/** The tracks of a playlist are a list through PlaylistTrack, with its composite key. */
async function playlist({ browser, server, shoot }) {
  const page = await openPage(browser, `${server.address}/?entity=Playlist&sort=PlaylistId`, { width: 1920, height: 1080 });
  await page.run(() => globalThis.livefetch.page.rowPanel.open('Playlist', 1));
  await page.until(() => [...document.querySelectorAll('.row-panel li')].some(({ textContent }) => textContent.includes('Two')),
    { what: 'the tracks of the list' });
  await shoot(page, 'chinook-playlist');
  await page.run(() => globalThis.livefetch.client.save([{ update: 'Playlist', id: 2, values: { Name: 'Loud' } }]));
  await page.until(() => [...document.querySelectorAll('.row')].some(({ textContent }) => textContent.includes('Loud')));
  await page.run(() => { globalThis.livefetch.page.rowPanel.close(); globalThis.livefetch.page.change({ sort: '' }); globalThis.livefetch.page.second.toggle(); });
  await page.until(() => document.querySelectorAll('.second .row').length > 1);
  assert.deepEqual(await page.run(() => globalThis.livefetch.page.second.grid.columns.map(({ name }) => name)), ['Name', 'id'], 'two columns, not one twice');
  await page.close();
}

export const chinookScenarios = {
  'every table of the Chinook schema has the same tools': { run: everyTable, fixture: chinook },
  'rows of the Chinook schema are called by their names': { run: relatedLabels, fixture: chinook },
  'a playlist shows its tracks and is live': { run: playlist, fixture: chinook },
};
