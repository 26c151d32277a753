// Paths of files that this process has mapped into memory enter; files that another program
// truncated get their length back, and a record of it leaves.
//
// Reading a mapped page beyond the end of its file raises SIGBUS, which ends the process. SQLite maps
// the index of a write-ahead log. A handler of SIGBUS extends the truncated file with zeros and
// returns, so that the instruction is repeated and finds zeros. A reader of the file must call
// `livefetch_mapped_file_restore` afterwards, which returns whether the bytes read can be wrong.

#ifndef LIVEFETCH_MAPPED_FILES_H
#define LIVEFETCH_MAPPED_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

/// One mapped file.
typedef struct livefetch_mapped_file livefetch_mapped_file;

/// Registers the file at `path` and installs the handler of SIGBUS with the first file.
///
/// Returns NULL if there is no such file, if its path is longer than 4,095 bytes, or if there is no
/// memory. May be called from any thread.
livefetch_mapped_file *livefetch_mapped_file_register(const char *path);

/// Ends the registration. No thread may use `file` afterwards.
void livefetch_mapped_file_unregister(livefetch_mapped_file *file);

/// Extends the file with zeros to the greatest length that it had, if `now`, its status, shows that
/// it was truncated. `now` may be the status of another file that has taken the path, which is left
/// alone.
///
/// Returns true if the file has ever been truncated since it was registered.
bool livefetch_mapped_file_restore(livefetch_mapped_file *file, const struct stat *now);

#endif
