// The limit of saving: bare SQLite on a file that LiveFetch has prepared, so that the same indexes
// and history triggers work, with the same durability (WAL, synchronous=FULL).
//   store commit FILE COUNT [PAUSE]  one-row updates, one commit per update, PAUSE microseconds
//                                    after the one before; prints each one's microseconds
//   store insert FILE SECONDS        inserts, one commit per 1,000; prints rows per second

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sqlite3 *store;

static void check(int result) {
  if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
  fprintf(stderr, "store: %s\n", sqlite3_errmsg(store));
  exit(1);
}

static void run(const char *sql) { check(sqlite3_exec(store, sql, NULL, NULL, NULL)); }

static sqlite3_stmt *prepared(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v2(store, sql, -1, &statement, NULL));
  return statement;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static void commitEach(int count, int pause) {
  sqlite3_stmt *update = prepared("UPDATE City SET population = ?1 WHERE id = 1796236");
  for (int i = 0; i < count; i++) {
    usleep(pause);
    double start = seconds();
    sqlite3_bind_int64(update, 1, 24000000 + i);
    check(sqlite3_step(update));
    check(sqlite3_reset(update));
    printf("%.1f\n", (seconds() - start) * 1e6);
  }
}

static void insertInGroups(double limit) {
  sqlite3_stmt *begin = prepared("BEGIN IMMEDIATE"), *commit = prepared("COMMIT");
  sqlite3_stmt *insert = prepared(
    "INSERT INTO City(name, country, population, latitude, longitude, timezone, admin1)"
    " VALUES ('Newtown', 3041565, ?1, 42.5, 1.5, 'Europe/Andorra', '03')");
  double start = seconds(), now = start;
  long rows = 0;
  for (; now - start < limit; now = seconds()) {
    check(sqlite3_step(begin)), check(sqlite3_reset(begin));
    for (int i = 0; i < 1000; i++, rows++) {
      sqlite3_bind_int64(insert, 1, i);
      check(sqlite3_step(insert)), check(sqlite3_reset(insert));
    }
    check(sqlite3_step(commit)), check(sqlite3_reset(commit));
  }
  printf("%.1f\n", rows / (now - start));
}

int main(int count, char **arguments) {
  if (count < 4) return fprintf(stderr, "usage: store commit|insert FILE COUNT|SECONDS\n"), 2;
  check(sqlite3_open_v2(arguments[2], &store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  if (!strcmp(arguments[1], "commit")) commitEach(atoi(arguments[3]), count > 4 ? atoi(arguments[4]) : 0);
  else insertInGroups(atof(arguments[3]));
}
