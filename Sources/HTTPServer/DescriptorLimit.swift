// How many files and sockets the process may have open, and how many of them connections may take.

import CMicrohttpd
import Glibc

/// The system's limit of open descriptors.
public enum DescriptorLimit {
  /// Raises the soft limit to the hard one.
  public static func raise() { chttp_raise_descriptor_limit() }

  /// The most connections for which there are descriptors besides those that are open now and a
  /// reserve for files that are opened later. O(open descriptors).
  ///
  /// - Parameter workers: how many workers are to be started, each with descriptors of its own.
  static func connections(workers: Int) -> Int {
    let free = chttp_descriptor_limit() - openCount - workers * descriptorsPerWorker
    return max(workers, free - min(reserve, free / 4))
  }

  private static let descriptorsPerWorker = 4
  private static let reserve = 128

  private static var openCount: Int {
    guard let directory = opendir("/proc/self/fd") else { return 64 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
  }
}
