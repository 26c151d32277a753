// Plain functions for SQLite's variadic ones, which Swift cannot call.
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

static inline unsigned int csqlite_number(const unsigned char *at) {
  return (unsigned int)at[0] << 24 | (unsigned int)at[1] << 16 | (unsigned int)at[2] << 8 | at[3];
}

/// The length that a database file has to have by its header; 0 if the header does not say.
static inline long long csqlite_header_bytes(sqlite3_file *file) {
  unsigned char header[100];
  unsigned int page;
  if (file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK ||
      csqlite_number(header + 24) != csqlite_number(header + 92))
    return 0;
  page = (unsigned int)header[16] << 8 | header[17];
  return (long long)csqlite_number(header + 28) * (page == 1 ? 65536 : page);
}

/// The number of different pages in (`first`, `last`] that the frames of a log contain, for pages of
/// `size` bytes; -1 without memory.
static inline long long csqlite_logged_pages(
    sqlite3_file *log, long long first, long long last, unsigned int size) {
  unsigned char header[32], frame[24];
  long long found = 0, at = 32;
  unsigned char *seen;
  if (log->pMethods->xRead(log, header, sizeof header, 0) != SQLITE_OK) return 0;
  seen = (unsigned char *)sqlite3_malloc64((sqlite3_uint64)((last - first) / 8 + 1));
  if (!seen) return -1;
  memset(seen, 0, (size_t)((last - first) / 8 + 1));
  for (; log->pMethods->xRead(log, frame, sizeof frame, at) == SQLITE_OK; at += 24 + size) {
    long long page = (long long)csqlite_number(frame) - first - 1;
    if (memcmp(frame + 8, header + 16, 8) != 0) break;
    if (page < 0 || page >= last - first || seen[page / 8] & 1 << page % 8) continue;
    seen[page / 8] |= (unsigned char)(1 << page % 8);
    found++;
  }
  sqlite3_free(seen);
  return found;
}

/// The length of a database file, and the length that its header says.
struct csqlite_lengths {
  sqlite3_int64 file_bytes;
  long long header_bytes;
};

/// 1 if the database file is shorter than its header says, and the log of the connection does not
/// contain all the missing pages. A checkpoint of another process writes the header first, so what
/// changes while this reads does not count.
///
/// `known` has the lengths of the last time when the log contained them. The log is not read again while
/// they are the same: it keeps the pages until a checkpoint has copied them, which lengthens the file.
static inline int csqlite_lacks_pages(sqlite3 *db, struct csqlite_lengths *known) {
  sqlite3_file *file = 0, *log = 0;
  sqlite3_int64 size = 0, again = 0;
  long long wanted, first, last, lock, found = 0;
  unsigned char header[18];
  unsigned int page;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
      !file->pMethods)
    return 0;
  wanted = csqlite_header_bytes(file);
  if (file->pMethods->xFileSize(file, &size) != SQLITE_OK || size < 512) return 0;
  if (size >= wanted) {
    known->file_bytes = 0;
    return 0;
  }
  if (size == known->file_bytes && wanted == known->header_bytes) return 0;
  if (file->pMethods->xRead(file, header, sizeof header, 0) != SQLITE_OK) return 0;
  page = (unsigned int)header[16] << 8 | header[17];
  if (page == 1) page = 65536;
  if (page < 512) return 0;
  first = size / page;
  last = wanted / page;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
      log->pMethods)
    found = csqlite_logged_pages(log, first, last, page);
  // SQLite never writes the page that contains the byte of its locks.
  lock = 0x40000000 / page + 1;
  if (lock > first && lock <= last) found++;
  if (found >= last - first) *known = (struct csqlite_lengths){size, wanted};
  if (found < 0 || found >= last - first) return 0;
  return file->pMethods->xFileSize(file, &again) == SQLITE_OK && again == size &&
         csqlite_header_bytes(file) == wanted;
}

#ifdef __linux__
/// The number of the file system that a file is on, as <linux/magic.h> lists them; 0 if unknown.
static inline unsigned int csqlite_file_system(const char *path) {
  struct statfs found;
  return statfs(path, &found) == 0 ? (unsigned int)found.f_type : 0;
}
#endif
