// What SQLite offers through variadic functions, which Swift cannot call.
#pragma once
#include <sqlite3.h>

/// Has SQLite not count its memory, for which every allocation of every thread takes one lock.
/// SQLITE_MISUSE if the library is in use already.
static inline int csqlite_stop_counting_memory(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Reads the functions by which SQLite allocates. SQLITE_MISUSE if the library is in use already.
static inline int csqlite_get_allocator(sqlite3_mem_methods *methods) {
  return sqlite3_config(SQLITE_CONFIG_GETMALLOC, methods);
}

/// Has SQLite allocate by `methods`, which it copies. SQLITE_MISUSE if the library is in use already.
static inline int csqlite_set_allocator(const sqlite3_mem_methods *methods) {
  return sqlite3_config(SQLITE_CONFIG_MALLOC, methods);
}

/// Has `log` called with SQLite's own account of errors. SQLITE_MISUSE if the library is in use already.
static inline int csqlite_log_errors(void (*log)(void *, int, const char *)) {
  return sqlite3_config(SQLITE_CONFIG_LOG, log, (void *)0);
}

/// Has triggers fire on a connection, or not. Foreign keys work either way.
static inline int csqlite_enable_triggers(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, (int *)0);
}
