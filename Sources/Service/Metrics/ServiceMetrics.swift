// Counts requests by kind and status, and measures their times: those that may wait for a change separately
// from the others. Promises: a request costs three additions to atomic numbers; everything else is
// computed when metrics are read.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchMetrics
import Synchronization

/// The kind under which the metrics count a request.
enum RequestKind: UInt8, CaseIterable {
  /// Refused before it was routed.
  case none
  case about, model, fetch, object, value, write, batch, save, changes, poll, live, stream, openapi,
    health, metrics, file, options

  /// The metric of its time; nil if it is not measured.
  var times: RequestTimes? {
    switch self {
    case .none: nil
    case .changes, .poll, .live, .stream: .waiting
    default: .answered
    }
  }
}

/// The two metrics of requests' times.
struct RequestTimes: Sendable {
  let name: String
  let help: String
  /// The bounds of the buckets in seconds; both have as many.
  let bounds: [Double]

  static let answered = RequestTimes(
    name: "livefetch_request_seconds",
    help:
      "Time from a request's last byte to its answer, of requests that do not wait for a change.",
    bounds: [
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
      10,
    ])
  static let waiting = RequestTimes(
    name: "livefetch_wait_seconds",
    help: "Time from a request's last byte to its answer or its stream's end, waiting included.",
    bounds: [
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 600,
    ])
}

/// A number that many threads add to.
final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  func add(_ amount: Int = 1) { number.add(amount, ordering: .relaxed) }

  var value: Int { number.load(ordering: .relaxed) }
}

/// The metrics of a service. They outlive the store that it serves.
public final class ServiceMetrics: Sendable {
  /// By kind: the bounds of its buckets in nanoseconds; empty if its time is not measured.
  private static let bounds = RequestKind.allCases.map { kind in
    (kind.times?.bounds ?? []).map { UInt64($0 * 1e9) }
  }
  private static let bucketCount = RequestTimes.answered.bounds.count + 1
  private static let statuses = [200, 201, 204, 206, 304] + ProblemCatalog.statuses
  /// Indexed by status - 200; statuses that are not among ``statuses`` have the last index.
  private static let statusIndex: [UInt8] = (200...599).map { status in
    UInt8(statuses.firstIndex(of: status) ?? statuses.count)
  }
  private static let statusCount = statuses.count + 1

  /// By kind and status.
  private let requests: [Counter]
  /// By kind and bucket.
  private let buckets: [Counter]
  /// By kind, in nanoseconds.
  private let times: [Counter]
  let cacheHits = Counter()
  let cacheMisses = Counter()
  let openStreams = Counter()
  // Protects the epoch.
  private let epochs = Mutex(Epochs())
  // Protects the counts.
  private let backups = Mutex(Backups())
  // Protects the server; set once.
  private let server = Mutex(WeakServer())

  private struct WeakServer {
    weak var server: HTTPServer?
  }

  private struct Epochs {
    /// The epoch that was observed last; nil before the first.
    var current: String?
    var begun = 0
  }

  private struct Backups {
    /// Seconds between two of them; 0 without a schedule.
    var interval = 0.0
    var made = 0
    var failed = 0
    /// Seconds since 1970; 0 before the first.
    var last = 0.0
  }

  /// Makes metrics of zero.
  public init() {
    let kinds = RequestKind.allCases.count
    requests = (0..<kinds * Self.statusCount).map { _ in Counter() }
    buckets = (0..<kinds * Self.bucketCount).map { _ in Counter() }
    times = (0..<kinds).map { _ in Counter() }
  }

  /// Adds the metrics of `server`.
  public func watch(_ server: HTTPServer) {
    self.server.withLock { $0.server = server }
  }

  /// Counts an epoch if `token` belongs to another one than the token before. A store is opened again
  /// with a new epoch, so its own counters would begin at 0 with it.
  func observe(_ token: Token) {
    epochs.withLock { epochs in
      if let current = epochs.current, current != token.epoch { epochs.begun += 1 }
      epochs.current = token.epoch
    }
  }

  /// Records that backups are made every `interval` seconds.
  ///
  /// - Parameter last: when the newest copy of an earlier run began, in seconds since 1970.
  public func scheduleBackups(every interval: Double, last: Double?) {
    backups.withLock { backups in
      backups.interval = interval
      backups.last = last ?? 0
    }
  }

  /// Counts a scheduled backup.
  ///
  /// - Parameter time: when it began, in seconds since 1970; nil if it failed.
  public func countBackup(_ time: Double?) {
    backups.withLock { backups in
      if let time {
        backups.made += 1
        backups.last = time
      } else {
        backups.failed += 1
      }
    }
  }

  /// Counts a response.
  func count(_ mark: UInt8, status: Int, nanoseconds: UInt64) {
    guard (200...599).contains(status), RequestKind(rawValue: mark) != nil else { return }
    let index = Int(Self.statusIndex[status - 200])
    requests[Int(mark) * Self.statusCount + index].add()
    let bounds = Self.bounds[Int(mark)]
    guard !bounds.isEmpty else { return }
    let bucket = bounds.firstIndex { nanoseconds <= $0 } ?? bounds.count
    buckets[Int(mark) * Self.bucketCount + bucket].add()
    times[Int(mark)].add(Int(truncatingIfNeeded: nanoseconds))
  }
}

// MARK: - Families

extension ServiceMetrics {
  var families: [MetricFamily] {
    [
      MetricFamily(
        "livefetch_build_info", "1, with the version and the commit of the program.", .gauge,
        [
          .init(
            labels: [
              .init("version", LiveFetchVersion.number),
              .init("commit", LiveFetchVersion.commit ?? ""),
            ], value: 1)
        ]),
      MetricFamily(
        "livefetch_epochs_total", "Epochs begun while the store was served.", .counter,
        epochs.withLock { $0.begun }),
      MetricFamily(
        "livefetch_requests_total", "Answered requests, by kind and status.",
        .counter, requestSamples),
      family(of: .answered), family(of: .waiting),
      MetricFamily(
        "livefetch_streams_open", "Streams of server-sent events.", .gauge, openStreams.value),
      MetricFamily(
        "livefetch_snapshot_cache_hits_total", "Fetches answered with a cached snapshot.", .counter,
        cacheHits.value),
      MetricFamily(
        "livefetch_snapshot_cache_misses_total", "Fetches that were read from the store.", .counter,
        cacheMisses.value),
    ] + connectionFamilies + backupFamilies
  }

  private var backupFamilies: [MetricFamily] {
    let backups = backups.withLock { $0 }
    return [
      MetricFamily(
        "livefetch_backups_total", "Scheduled backups made and checked.", .counter, backups.made),
      MetricFamily(
        "livefetch_backups_failed_total", "Scheduled backups that failed.", .counter,
        backups.failed),
      MetricFamily(
        "livefetch_backup_last_timestamp_seconds",
        "When the last of them began, in seconds since 1970; 0 before the first.", .gauge,
        [.init(value: backups.last)]),
      MetricFamily(
        "livefetch_backup_interval_seconds", "Time between two backups; 0 without a schedule.",
        .gauge, [.init(value: backups.interval)]),
    ]
  }

  private var connectionFamilies: [MetricFamily] {
    guard let server = server.withLock({ $0.server }) else { return [] }
    return [
      MetricFamily(
        "livefetch_connections_open", "Open connections.", .gauge, server.connectionCount),
      MetricFamily(
        "livefetch_connections_waiting", "Connections that wait for an answer or an event.",
        .gauge, server.waitingCount),
      MetricFamily(
        "livefetch_memory_in_flight_bytes", "Bytes of request bodies and answers in memory.",
        .gauge, server.memoryInFlight),
    ]
  }

  private var requestSamples: [MetricFamily.Sample] {
    RequestKind.allCases.flatMap { kind in
      (0..<Self.statusCount).compactMap { index -> MetricFamily.Sample? in
        let count = requests[Int(kind.rawValue) * Self.statusCount + index].value
        guard count > 0 else { return nil }
        let status = index < Self.statuses.count ? "\(Self.statuses[index])" : "other"
        return .init(
          labels: [.init("kind", "\(kind)"), .init("status", status)], value: Double(count))
      }
    }
  }

  private func family(of times: RequestTimes) -> MetricFamily {
    let kinds = RequestKind.allCases.filter { $0.times?.name == times.name }
    let samples = kinds.flatMap { kind -> [MetricFamily.Sample] in
      let first = Int(kind.rawValue) * Self.bucketCount
      let counts = buckets[first..<(first + Self.bucketCount)].map(\.value)
      guard counts.contains(where: { $0 > 0 }) else { return [] }
      let sum = Double(self.times[Int(kind.rawValue)].value) / 1e9
      return Histogram(bounds: times.bounds, counts: counts, sum: sum)
        .samples([.init("kind", "\(kind)")])
    }
    return MetricFamily(times.name, times.help, .histogram, samples)
  }
}
