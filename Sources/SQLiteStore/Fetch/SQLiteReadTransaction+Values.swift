// Objects → the stored values at the ends of key paths, for the live engine's value indexes.

import FetchModel

extension SQLiteReadTransaction {
  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? {
    guard !ids.isEmpty, let root = paths.first?.root else { return [:] }
    let position = normalized(position)
    let plan = FetchPlan(
      definition: ResultDefinition(entity: root, predicate: .everything),
      selection: paths.map { SelectedValue(key: "", source: .path($0)) })
    let statement = try rowStatement(of: plan, ids: ids, at: position)
    var values: [ObjectID: [StoredValue?]] = [:]
    let most = max(maxAnswerBytes, Self.mostRowBytes)
    var size = 0
    try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      while try prepared.step() {
        guard let id = prepared.id(statement.layout.id) else { continue }
        size += prepared.byteCount(0..<prepared.columnCount)
        // The caller continues without these values, as it does after a timeout.
        guard size <= most else { throw .queryTimeout }
        values[id] = statement.layout.values.map { prepared.exactValue($0.column) }
      }
    }
    return values
  }
}

extension Statement {
  /// Returns the value of a column; nil for text that is not UTF-8, which a String cannot
  /// represent.
  func exactValue(_ column: Int32) -> StoredValue? {
    let value = value(column)
    guard case .text(let text) = value else { return value }
    return text.utf8.count == utf8(column).count && text.utf8.elementsEqual(utf8(column))
      ? value : nil
  }
}
