// A path enters; when its file was created leaves. Swift does not see `statx`.

#ifndef LIVEFETCH_FILE_CREATED_H
#define LIVEFETCH_FILE_CREATED_H

#include <stdint.h>

/// When the file at `path` was created, in nanoseconds since 1970; 0 if there is no such file, or if the
/// file system does not record it. A copy was created later than the original.
int64_t livefetch_file_created(const char *path);

#endif
