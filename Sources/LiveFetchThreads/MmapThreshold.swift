// The memory that the process gives back to the system.

import CThreads

/// Gives freed blocks of at least this number of bytes back to the system at once. glibc does so with
/// large blocks, but raises the size to that of the largest freed block, up to 32 MiB: answers of many
/// megabytes would make the process keep several times their size.
package func setMmapThreshold(_ bytes: Int32) { cthreads_set_mmap_threshold(bytes) }
