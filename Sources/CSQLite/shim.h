// What SQLite offers through variadic functions, which Swift cannot call.
#pragma once
#include <sqlite3.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

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

/// Has closing a connection leave the write-ahead log as it is: neither copied into the file nor
/// removed.
static inline int csqlite_keep_log_on_close(sqlite3 *db) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

#ifdef __linux__
/// The number of the file system that a file is on, as <linux/magic.h> lists them; 0 if unknown.
static inline unsigned int csqlite_file_system(const char *path) {
  struct statfs found;
  return statfs(path, &found) == 0 ? (unsigned int)found.f_type : 0;
}
#endif
