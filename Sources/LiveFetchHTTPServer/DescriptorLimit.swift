// The process's limit of open files and sockets → the number that connections may use.

import CMicrohttpd
import Glibc

/// The system's limit of open descriptors.
public enum DescriptorLimit {
  /// Raises the soft limit to the hard limit.
  public static func raise() { chttp_raise_descriptor_limit() }

  /// The maximum number of connections that can be open in addition to the descriptors that are open now and a
  /// reserve for files that are opened later. O(open descriptors).
  ///
  /// - Parameter workers: the number of workers that will start, each with descriptors of its own.
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
