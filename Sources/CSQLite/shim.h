// What SQLite offers through variadic functions, which Swift cannot call.
#pragma once
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>
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

/// How many bytes the write-ahead log has to have, by the page size and the number of valid frames
/// in the header of its index; -1 where the database has no index that is shared.
static inline long long csqlite_log_bytes(sqlite3 *db) {
  sqlite3_file *file = 0;
  volatile void *region = 0;
  unsigned char header[20];
  unsigned short page;
  unsigned int frames;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
      !file->pMethods || file->pMethods->iVersion < 2 || !file->pMethods->xShmMap ||
      file->pMethods->xShmMap(file, 0, 32768, 0, &region) != SQLITE_OK || !region)
    return -1;
  memcpy(header, (const void *)region, sizeof header);
  memcpy(&page, header + 14, sizeof page);
  memcpy(&frames, header + 16, sizeof frames);
  // A page of 65,536 bytes is written as 1.
  return frames ? 32 + (long long)frames * (24 + (page & 0xfe00) + ((page & 1) << 16)) : 0;
}

/// Copies the write-ahead log that a connection has open, which may have no name any more, to a new
/// file. Returns 0 if all of it was written.
static inline int csqlite_copy_log(sqlite3 *db, const char *path) {
  sqlite3_file *log = 0;
  sqlite3_int64 size = 0, at = 0;
  char buffer[65536];
  int to;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK || !log ||
      !log->pMethods || log->pMethods->xFileSize(log, &size) != SQLITE_OK)
    return -1;
  to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) return -1;
  while (at < size) {
    int count = size - at < (sqlite3_int64)sizeof buffer ? (int)(size - at) : (int)sizeof buffer;
    if (log->pMethods->xRead(log, buffer, count, at) != SQLITE_OK) break;
    if (write(to, buffer, count) != count) break;
    at += count;
  }
  return close(to) == 0 && at >= size ? 0 : -1;
}

#ifdef __linux__
/// The number of the file system that a file is on, as <linux/magic.h> lists them; 0 if unknown.
static inline unsigned int csqlite_file_system(const char *path) {
  struct statfs found;
  return statfs(path, &found) == 0 ? (unsigned int)found.f_type : 0;
}
#endif
