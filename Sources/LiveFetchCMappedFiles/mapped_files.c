// The handler of SIGBUS; see include/mapped_files.h.
#include "mapped_files.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { path_bytes = 4096 };

/// SQLite maps its index in regions of this many bytes.
static const off_t region_bytes = 32 * 1024;
/// The handler extends a file by no more than this beyond its greatest known length.
static const off_t most_extension = 64 * 1024 * 1024;

struct livefetch_mapped_file {
  /// The entry that was made before this one. Entries are used again and never freed: the handler
  /// walks through them without a lock.
  livefetch_mapped_file *next;
  /// False while the entry is free or being filled: the handler skips it.
  atomic_bool is_registered;
  bool is_taken;
  char path[path_bytes];
  dev_t device;
  ino_t inode;
  /// The greatest length that was seen.
  _Atomic off_t bytes;
  atomic_bool is_truncated;
};

static _Atomic(livefetch_mapped_file *) first = NULL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;
static bool is_installed = false;

static bool is_same(const livefetch_mapped_file *file, const struct stat *now) {
  return now->st_dev == file->device && now->st_ino == file->inode;
}

/// Extends the file so that the access which raised SIGBUS can be repeated.
///
/// Returns false if the file is not shorter than it was.
static bool extend(livefetch_mapped_file *file) {
  struct stat now;
  off_t known = atomic_load(&file->bytes);
  if (stat(file->path, &now) != 0 || !is_same(file, &now) || now.st_size >= known) return false;
  atomic_store(&file->is_truncated, true);
  return truncate(file->path, known) == 0;
}

/// Extends a truncated file that has its length again by one region: it can have grown since its
/// length was last read.
///
/// Returns false if the file was not truncated.
static bool extend_further(livefetch_mapped_file *file) {
  struct stat now;
  if (!atomic_load(&file->is_truncated) || stat(file->path, &now) != 0) return false;
  if (!is_same(file, &now) || now.st_size >= file->bytes + most_extension) return false;
  return truncate(file->path, now.st_size + region_bytes) == 0;
}

static bool extend_any(bool (*extend)(livefetch_mapped_file *)) {
  bool is_extended = false;
  for (livefetch_mapped_file *file = atomic_load(&first); file != NULL; file = file->next) {
    if (atomic_load(&file->is_registered) && extend(file)) is_extended = true;
  }
  return is_extended;
}

/// Calls only functions that are safe in a signal handler. A SIGBUS of another cause goes to the
/// handler that was there before: the instruction is repeated under it.
static void handle(int signal, siginfo_t *info, void *context) {
  (void)info;
  (void)context;
  int saved = errno;
  if (!extend_any(extend) && !extend_any(extend_further)) sigaction(signal, &previous, NULL);
  errno = saved;
}

static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  is_installed = sigaction(SIGBUS, &action, &previous) == 0;
}

/// Returns a free entry; NULL if there is no memory. The caller holds the lock.
static livefetch_mapped_file *free_entry(void) {
  livefetch_mapped_file *file = atomic_load(&first);
  while (file != NULL && file->is_taken) file = file->next;
  if (file != NULL) return file;
  file = calloc(1, sizeof *file);
  if (file == NULL) return NULL;
  file->next = atomic_load(&first);
  atomic_store(&first, file);
  return file;
}

livefetch_mapped_file *livefetch_mapped_file_register(const char *path) {
  struct stat now;
  size_t length = strlen(path);
  if (length >= path_bytes || stat(path, &now) != 0) return NULL;
  pthread_mutex_lock(&lock);
  if (!is_installed) install();
  livefetch_mapped_file *found = free_entry();
  if (found != NULL) {
    found->is_taken = true;
    memcpy(found->path, path, length + 1);
    found->device = now.st_dev;
    found->inode = now.st_ino;
    atomic_store(&found->bytes, now.st_size);
    atomic_store(&found->is_truncated, false);
    atomic_store(&found->is_registered, true);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void livefetch_mapped_file_unregister(livefetch_mapped_file *file) {
  pthread_mutex_lock(&lock);
  atomic_store(&file->is_registered, false);
  file->is_taken = false;
  pthread_mutex_unlock(&lock);
}

/// True if the file is shorter than `bytes` now. A status from before another thread recorded a growth shows
/// a smaller length.
static bool is_shorter(const livefetch_mapped_file *file, off_t bytes) {
  struct stat now;
  return stat(file->path, &now) == 0 && is_same(file, &now) && now.st_size < bytes;
}

bool livefetch_mapped_file_restore(livefetch_mapped_file *file, const struct stat *now) {
  if (!is_same(file, now)) return atomic_load(&file->is_truncated);
  off_t known = atomic_load(&file->bytes);
  while (now->st_size > known && !atomic_compare_exchange_weak(&file->bytes, &known, now->st_size)) {
  }
  if (now->st_size < known && is_shorter(file, known)) {
    // The record comes first: a process that finds the restored length finds the record as well.
    atomic_store(&file->is_truncated, true);
    (void)!truncate(file->path, known);
  }
  return atomic_load(&file->is_truncated);
}
