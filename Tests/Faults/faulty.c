// faulty.c: a library to be loaded before the C library's own functions (LD_PRELOAD). It does three
// things to a process, controlled by a page of memory that it shares with the test (the
// file FAULTY_PAGE): system calls on SQLite's files fail, syncs take longer,
// and the date jumps.
//
// Only files whose names contain ".sqlite" are affected, and only the date's clocks: what measures
// durations goes on.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct page {
  int64_t jump;     // seconds that the date is wrong by
  int32_t error;    // what the calls below fail with; 0: they do not fail
  int32_t calls;    // which of them: the sum of 1 write, 2 sync, 4 read, 8 cut
  int32_t spared;   // so many calls succeed before
  int32_t failures; // counted up with each that failed
  int32_t delay;    // microseconds that each sync takes longer
};

static struct page *shared;

__attribute__((constructor)) static void open_page(void) {
  const char *path = getenv("FAULTY_PAGE");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) shared = page;
}

static int is_store(int file) {
  char link[40], name[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (length <= 0) return 0;
  name[length] = 0;
  return strstr(name, ".sqlite") != NULL;
}

static int fails(int file, int call) {
  if (!shared || !shared->error || !(shared->calls & call) || !is_store(file)) return 0;
  if (__atomic_fetch_sub(&shared->spared, 1, __ATOMIC_RELAXED) > 0) return 0;
  __atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
  errno = shared->error;
  return 1;
}

// The C library's own function of the same name, looked up once.
#define NEXT(name)                                                  \
  ({                                                                \
    static __typeof__(&name) next;                                  \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);   \
    next;                                                           \
  })

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) {
  return fails(file, 1) ? -1 : NEXT(pwrite)(file, bytes, count, place);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
  return fails(file, 1) ? -1 : NEXT(pwrite64)(file, bytes, count, place);
}

static void wait_before_sync(int file) {
  if (shared && shared->delay > 0 && is_store(file)) usleep(shared->delay);
}

int fsync(int file) {
  wait_before_sync(file);
  return fails(file, 2) ? -1 : NEXT(fsync)(file);
}

int fdatasync(int file) {
  wait_before_sync(file);
  return fails(file, 2) ? -1 : NEXT(fdatasync)(file);
}

ssize_t pread(int file, void *bytes, size_t count, off_t place) {
  return fails(file, 4) ? -1 : NEXT(pread)(file, bytes, count, place);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t place) {
  return fails(file, 4) ? -1 : NEXT(pread64)(file, bytes, count, place);
}

int ftruncate(int file, off_t length) {
  return fails(file, 8) ? -1 : NEXT(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length) {
  return fails(file, 8) ? -1 : NEXT(ftruncate64)(file, length);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = NEXT(clock_gettime)(clock, now);
  if (shared && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += shared->jump;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int result = NEXT(gettimeofday)(now, zone);
  if (shared) now->tv_sec += shared->jump;
  return result;
}

time_t time(time_t *now) {
  struct timespec date;
  clock_gettime(CLOCK_REALTIME, &date);
  if (now) *now = date.tv_sec;
  return date.tv_sec;
}
