// What SQLite offers through variadic functions, which Swift cannot call.
#pragma once
#include <sqlite3.h>

/// Has SQLite not count its memory, for which every allocation of every thread takes one lock.
/// SQLITE_MISUSE if the library is in use already.
static inline int csqlite_stop_counting_memory(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
