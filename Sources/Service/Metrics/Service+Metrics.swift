// The counters of all parts → `GET /metrics`, in Prometheus' text format.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchMetrics
import LiveQueries

extension Service {
  /// Counts the service's requests.
  public var metrics: ServiceMetrics { configuration.metrics }

  public func didBeginResponse(tag: UInt8, status: Int, nanosecondsSinceRequest: UInt64) {
    configuration.metrics.count(tag, status: status, nanoseconds: nanosecondsSinceRequest)
  }

  /// `GET /metrics`.
  func metricsResponse(isReady: Bool) -> HTTPResponse {
    configuration.metrics.observe(store.newestToken)
    return Health.metrics(families, isReady: isReady)
  }

  private var families: [MetricFamily] {
    configuration.metrics.families + poolFamilies + engine.counters.families
      + [lagFamily]
      + ((store as? any MetricsSource)?.metrics ?? [])
      + ProcessMetrics.families
  }

  private var lagFamily: MetricFamily {
    let newest = store.newestToken
    let lag = engine.counters.current.map { current in
      current.epoch == newest.epoch ? max(0, newest.position.number - current.position.number) : 0
    }
    return MetricFamily(
      "livefetch_live_lag", "Positions of the history that the engine has still to process.",
      .gauge, lag ?? 0)
  }

  private var poolFamilies: [MetricFamily] {
    [
      MetricFamily(
        "livefetch_slow_queries_waiting", "Slow queries that wait for a thread.", .gauge,
        pools.waiting),
      MetricFamily(
        "livefetch_slow_queries_running", "Slow queries that run.", .gauge, pools.running),
      MetricFamily(
        "livefetch_snapshot_cache_bytes", "Bytes of cached snapshots.", .gauge, cache.bytes),
    ]
  }
}

extension LiveCounters {
  fileprivate var families: [MetricFamily] {
    [
      MetricFamily("livefetch_live_fetches", "Distinct fetches kept live.", .gauge, queries),
      MetricFamily(
        "livefetch_live_memory_bytes", "Memory that they need, about.", .gauge, bytes),
      MetricFamily(
        "livefetch_live_waiting", "Fetches of clients that wait for a change.", .gauge, waiters),
      MetricFamily(
        "livefetch_live_positions_total", "Positions of the history that the engine processed.",
        .counter, positions),
      MetricFamily(
        "livefetch_live_considered_total", "Reads of the store for a fetch that a save may change.",
        .counter, considered),
      MetricFamily(
        "livefetch_live_settled_total",
        "Fetches that a save does not change, as its values alone show.",
        .counter, filteredOut),
      MetricFamily(
        "livefetch_live_changed_total", "Fetches that a save changed.", .counter, changed),
      MetricFamily("livefetch_live_diffs_total", "Diffs made.", .counter, diffs),
      MetricFamily(
        "livefetch_live_delivered_total", "Answers given to waiting clients.", .counter, delivered),
      MetricFamily(
        "livefetch_live_seconds_total", "Time that the engine's thread has worked.", .counter,
        [.init(value: Double(nanoseconds) / 1e9)]),
    ]
  }
}
