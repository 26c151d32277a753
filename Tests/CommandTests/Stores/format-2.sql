-- A store with the history of version 0.1.0, whose format is 2: its tables and triggers as that version
-- created them, after one save that changed Bergen's population.
CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO Country VALUES(1,'Peru');
INSERT INTO Country VALUES(2,'Norway');
CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER, country_id INTEGER REFERENCES Country(id));
INSERT INTO City VALUES(1,'Lima',7737002,1);
INSERT INTO City VALUES(2,'Oslo',580000,2);
INSERT INTO City VALUES(3,'Bergen',300000,2);
CREATE TABLE livefetch_store(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO livefetch_store VALUES('epoch','4kq7z2');
INSERT INTO livefetch_store VALUES('format',2);
INSERT INTO livefetch_store VALUES('journal_mode','delete');
INSERT INTO livefetch_store VALUES('schema_version',23);
INSERT INTO livefetch_store VALUES('saves_since',1);
CREATE TABLE livefetch_position(position INTEGER PRIMARY KEY, nonce INTEGER NOT NULL, source INTEGER NOT NULL);
INSERT INTO livefetch_position VALUES(1,1932710455,0);
INSERT INTO livefetch_position VALUES(2,2250047169,2);
CREATE TABLE livefetch_save(position INTEGER PRIMARY KEY, at REAL NOT NULL);
INSERT INTO livefetch_save VALUES(1,1763800000.25);
INSERT INTO livefetch_save VALUES(2,1763800060.5);
CREATE TABLE livefetch_table(name TEXT PRIMARY KEY, number INTEGER NOT NULL, since INTEGER NOT NULL, shape TEXT NOT NULL, relationships TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO livefetch_table VALUES('City',2,1,'b1a9f70c3e52d864','{}');
INSERT INTO livefetch_table VALUES('Country',1,1,'70d3c2e84b9f156a','{}');
CREATE TABLE livefetch_column(name TEXT NOT NULL, part TEXT NOT NULL, since INTEGER NOT NULL, added INTEGER NOT NULL, meaning TEXT NOT NULL, PRIMARY KEY(name, part)) WITHOUT ROWID;
INSERT INTO livefetch_column VALUES('City','population',1,0,'2f6d01c59ae8b374');
CREATE TABLE livefetch_answer(key TEXT PRIMARY KEY, at REAL NOT NULL, fingerprint TEXT NOT NULL, answer BLOB NOT NULL);
CREATE TABLE "livefetch_history_Country"(livefetch_position INTEGER PRIMARY KEY, livefetch_existed INTEGER NOT NULL, "id" INTEGER, "name" TEXT);
CREATE TABLE "livefetch_history_City"(livefetch_position INTEGER PRIMARY KEY, livefetch_existed INTEGER NOT NULL, "id" INTEGER, "name" TEXT, "population" INTEGER, "country_id" INTEGER);
INSERT INTO livefetch_history_City VALUES(2,1,3,'Bergen',213585,2);
CREATE INDEX livefetch_answer_at ON livefetch_answer(at);
CREATE TRIGGER "livefetch_insert_Country" AFTER INSERT ON "Country" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 1);
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id") VALUES (last_insert_rowid(), 0, NEW."id"); END;
CREATE TRIGGER "livefetch_rekey_Country" AFTER UPDATE ON "Country" WHEN OLD."id" IS NOT NEW."id" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 1);
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id") VALUES (last_insert_rowid(), 0, NEW."id"); END;
CREATE TRIGGER "livefetch_update_Country" AFTER UPDATE ON "Country" WHEN OLD."id" IS NOT NEW."id" OR OLD."name" IS NOT NEW."name" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 1);
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id", "name") VALUES (last_insert_rowid(), 1, OLD."id", OLD."name"); END;
CREATE TRIGGER "livefetch_delete_Country" AFTER DELETE ON "Country" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 1);
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id", "name") VALUES (last_insert_rowid(), 1, OLD."id", OLD."name"); END;
CREATE TRIGGER "livefetch_replace_Country" BEFORE INSERT ON "Country" WHEN EXISTS (SELECT 1 FROM "Country" WHERE "id" = NEW."id") BEGIN
  INSERT INTO livefetch_position(nonce, source) SELECT random() & 4294967295, 1 FROM "Country" WHERE "id" = NEW."id";
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id", "name") SELECT last_insert_rowid(), 1, "id", "name" FROM "Country" WHERE "id" = NEW."id"; END;
CREATE TRIGGER "livefetch_collide_Country" BEFORE UPDATE ON "Country" WHEN (OLD."id" IS NOT NEW."id") AND EXISTS (SELECT 1 FROM "Country" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id")) BEGIN
  INSERT INTO livefetch_position(nonce, source) SELECT random() & 4294967295, 1 FROM "Country" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id");
  INSERT INTO "livefetch_history_Country"(livefetch_position, livefetch_existed, "id", "name") SELECT last_insert_rowid(), 1, "id", "name" FROM "Country" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id"); END;
CREATE TRIGGER "livefetch_insert_City" AFTER INSERT ON "City" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 2);
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id") VALUES (last_insert_rowid(), 0, NEW."id"); END;
CREATE TRIGGER "livefetch_rekey_City" AFTER UPDATE ON "City" WHEN OLD."id" IS NOT NEW."id" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 2);
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id") VALUES (last_insert_rowid(), 0, NEW."id"); END;
CREATE TRIGGER "livefetch_update_City" AFTER UPDATE ON "City" WHEN OLD."id" IS NOT NEW."id" OR OLD."name" IS NOT NEW."name" OR OLD."population" IS NOT NEW."population" OR OLD."country_id" IS NOT NEW."country_id" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 2);
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id", "name", "population", "country_id") VALUES (last_insert_rowid(), 1, OLD."id", OLD."name", OLD."population", OLD."country_id"); END;
CREATE TRIGGER "livefetch_delete_City" AFTER DELETE ON "City" BEGIN
  INSERT INTO livefetch_position(nonce, source) VALUES (random() & 4294967295, 2);
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id", "name", "population", "country_id") VALUES (last_insert_rowid(), 1, OLD."id", OLD."name", OLD."population", OLD."country_id"); END;
CREATE TRIGGER "livefetch_replace_City" BEFORE INSERT ON "City" WHEN EXISTS (SELECT 1 FROM "City" WHERE "id" = NEW."id") BEGIN
  INSERT INTO livefetch_position(nonce, source) SELECT random() & 4294967295, 2 FROM "City" WHERE "id" = NEW."id";
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id", "name", "population", "country_id") SELECT last_insert_rowid(), 1, "id", "name", "population", "country_id" FROM "City" WHERE "id" = NEW."id"; END;
CREATE TRIGGER "livefetch_collide_City" BEFORE UPDATE ON "City" WHEN (OLD."id" IS NOT NEW."id") AND EXISTS (SELECT 1 FROM "City" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id")) BEGIN
  INSERT INTO livefetch_position(nonce, source) SELECT random() & 4294967295, 2 FROM "City" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id");
  INSERT INTO "livefetch_history_City"(livefetch_position, livefetch_existed, "id", "name", "population", "country_id") SELECT last_insert_rowid(), 1, "id", "name", "population", "country_id" FROM "City" WHERE "id" = NEW."id" AND NOT ("id" IS OLD."id"); END;
