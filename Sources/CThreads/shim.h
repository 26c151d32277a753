// Functions of the system in a form that Swift can call on every platform.
#pragma once

#if defined(__linux__)
#include <stdlib.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>

// Blocks of at least this size go back to the system when they are freed. glibc would raise the size.
static inline void cthreads_set_mmap_threshold(int size) { mallopt(M_MMAP_THRESHOLD, size); }
#else
static inline void cthreads_set_mmap_threshold(int size) {}
#endif

#if defined(__linux__)
#include <sys/prctl.h>

// Names the calling thread, in at most 15 bytes.
static inline void cthreads_name_thread(const char *name) {
  prctl(PR_SET_NAME, name, 0, 0, 0);
}
#else
#include <pthread.h>

// Names the calling thread.
static inline void cthreads_name_thread(const char *name) { pthread_setname_np(name); }
#endif
