// BEGINSWITH, ENDSWITH, CONTAINS, LIKE and MATCHES as SQL functions. `livefetch_like(text, pattern,
// options)` returns 1 or 0, never NULL. A constant pattern is prepared once per statement.

import FetchModel
import LiveFetchCSQLite

private enum Search: Int, CaseIterable {
  case begins, ends, contains, like, matches

  var relation: Comparison.Relation {
    switch self {
    case .begins: .beginsWith
    case .ends: .endsWith
    case .contains: .contains
    case .like: .like
    case .matches: .matches
    }
  }
}

func registerSearchFunctions(on handle: OpaquePointer) {
  for search in Search.allCases {
    register("livefetch_\(search)", arguments: 3, tag: search.rawValue, on: handle) {
      context, _, values in
      let options = StringOptions(
        rawValue: UInt8(truncatingIfNeeded: sqlite3_value_int(values?[2])))
      let search = Search(rawValue: functionTag(context))
      let short =
        search == .matches ? RunningQuery.shortMatchedValue : RunningQuery.shortValue
      guard RunningQuery.admits(values?[0], short: short, context),
        RunningQuery.admits(values?[1], context)
      else { return }
      var wasInterrupted = false
      let isCancelled = {
        wasInterrupted = wasInterrupted || RunningQuery.isCancelled
        return wasInterrupted
      }
      guard let search, let text = utf8(values?[0]),
        let prepared = PreparedSearch.cached(context, for: values?[1], search, options, isCancelled)
      else {
        sqlite3_result_int(context, 0)
        return
      }
      let isFound = prepared.matches(text, isCancelled: isCancelled)
      guard !wasInterrupted else { return sqlite3_result_error_code(context, SQLITE_INTERRUPT) }
      sqlite3_result_int(context, isFound ? 1 : 0)
    }
  }
}

/// A prepared pattern, in the lifetime that SQLite gives an auxiliary datum.
private final class PreparedSearch {
  private let search: TextSearch

  private init(_ search: TextSearch) { self.search = search }

  /// The prepared pattern of this argument. A new one is handed to SQLite, which keeps it if the
  /// argument is constant. Returns nil if the argument is not a text.
  static func cached(
    _ context: OpaquePointer?, for value: OpaquePointer?, _ search: Search,
    _ options: StringOptions,
    _ isCancelled: () -> Bool
  ) -> PreparedSearch? {
    if let kept = sqlite3_get_auxdata(context, 1) {
      return Unmanaged<PreparedSearch>.fromOpaque(kept).takeUnretainedValue()
    }
    guard let text = utf8(value) else { return nil }
    let prepared = PreparedSearch(
      TextSearch(text, search.relation, options, isCancelled: isCancelled))
    // SQLite may release its reference at once, so SQLite gets a reference of its own.
    sqlite3_set_auxdata(context, 1, Unmanaged.passRetained(prepared).toOpaque()) { kept in
      if let kept { Unmanaged<PreparedSearch>.fromOpaque(kept).release() }
    }
    return prepared
  }

  func matches(_ text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool) -> Bool {
    search.matches(text, isCancelled: isCancelled)
  }
}
