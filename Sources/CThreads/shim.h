// Names threads by a function that Swift cannot call.
#pragma once

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
