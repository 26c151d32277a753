// The store's connections, saves and history → metrics, under the names that SQLite's store uses.

import FetchModel
import LiveFetchMetrics

extension PostgresStore: MetricsSource {
  /// The metrics of the connections, and, unless the store is read-only, of saves and the history. No
  /// query runs for them: the history is measured once a minute.
  public var metrics: [MetricFamily] {
    let connections = pool.connectionCounts
    return [
      MetricFamily(storeConnections: connections.idle, busy: connections.busy)
    ] + saveFamilies + historyFamilies
  }

  private var saveFamilies: [MetricFamily] {
    guard let saves else { return [] }
    return [
      MetricFamily(
        "livefetch_saves_total", "Saves made.", .counter, saves.made.load(ordering: .relaxed)),
      MetricFamily(
        "livefetch_saves_refused_total", "Saves refused.", .counter,
        saves.refused.load(ordering: .relaxed)),
      MetricFamily(
        "livefetch_saves_waiting", "Saves that wait for a thread.", .gauge, saves.waitingCount),
    ]
  }

  private var historyFamilies: [MetricFamily] {
    guard let extent = watch.extent else { return [] }
    return [
      MetricFamily(
        "livefetch_history_rows", "Changed rows that the history contains, about.", .gauge,
        extent.rows),
      MetricFamily(
        "livefetch_history_bytes", "Bytes that history takes, about.", .gauge, extent.bytes),
    ]
  }
}
