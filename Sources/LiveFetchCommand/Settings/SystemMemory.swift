// The memory of the machine or of the container → the defaults of limits.

import Foundation

/// The memory that this process can use.
enum SystemMemory {
  /// The bytes of the machine's memory, or of the container's if that has less.
  static let bytes = limits.reduce(Int(clamping: ProcessInfo.processInfo.physicalMemory), min)

  /// The limits of the control group, of version 2 and 1. Without a limit it is a text or a number that
  /// exceeds every memory.
  private static var limits: [Int] {
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
      .compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }
      .compactMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
  }
}
