// When a file was created; see include/file_created.h.
#define _GNU_SOURCE
#include "file_created.h"

#include <fcntl.h>
#include <sys/stat.h>

#if defined(__APPLE__)

int64_t livefetch_file_created(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return 0;
  return (int64_t)status.st_birthtimespec.tv_sec * 1000000000 + status.st_birthtimespec.tv_nsec;
}

#else

int64_t livefetch_file_created(const char *path) {
  struct statx status;
  if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) != 0) return 0;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

#endif
