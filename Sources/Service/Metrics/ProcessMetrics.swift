// Process metrics under the names of Prometheus's client libraries.

import FetchModel
import Foundation
import LiveFetchMetrics

#if canImport(Glibc)
  import Glibc
#endif

/// Metrics of this process; those that the system does not provide are omitted.
enum ProcessMetrics {
  static var families: [MetricFamily] {
    [cpu, memory, descriptors, descriptorLimit, start].compactMap { $0 }
  }

  private static var cpu: MetricFamily? {
    var time = timespec()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
    let seconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    return MetricFamily(
      "process_cpu_seconds_total", "Processor time of user and system.", .counter,
      [.init(value: seconds)])
  }

  private static var memory: MetricFamily? {
    let fields = words("/proc/self/statm")
    guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
    return MetricFamily(
      "process_resident_memory_bytes", "Resident memory.", .gauge,
      [.init(value: pages * Double(sysconf(Int32(_SC_PAGESIZE))))])
  }

  private static var descriptors: MetricFamily? {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else {
      return nil
    }
    // One entry is the directory itself.
    return MetricFamily(
      "process_open_fds", "Open file descriptors.", .gauge, max(0, names.count - 1))
  }

  private static var descriptorLimit: MetricFamily? {
    var limit = rlimit()
    #if canImport(Glibc)
      guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    #else
      guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return nil }
    #endif
    return MetricFamily(
      "process_max_fds", "How many file descriptors may be open.", .gauge, limit.rlim_cur)
  }

  private static var start: MetricFamily? {
    // The program's name, in parentheses, may contain blanks.
    guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[end...].split(separator: " ")
    let boot = lines("/proc/stat").first { $0.hasPrefix("btime ") }
    guard fields.count > 20, let ticks = Double(fields[20]),
      let booted = boot.flatMap({ Double($0.dropFirst(6)) })
    else { return nil }
    return MetricFamily(
      "process_start_time_seconds", "When the process started, in seconds since 1970.", .gauge,
      [.init(value: booted + ticks / Double(sysconf(Int32(_SC_CLK_TCK))))])
  }

  private static func lines(_ path: String) -> [Substring] {
    ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
  }

  private static func words(_ path: String) -> [Substring] {
    lines(path).first?.split(separator: " ") ?? []
  }
}
