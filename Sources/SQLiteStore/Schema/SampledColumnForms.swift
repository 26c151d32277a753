// The forms of columns that their first values have shown ↔ rows of `livefetch_store`. A column that loses
// its last value keeps its form, so that the history goes on.

import FetchModel
import SQLComposer

/// The forms that the first values of columns decide: the format of dates, the style of UUIDs, the type of a
/// column without a declared type.
struct SampledColumnForms {
  private static let prefix = "form\u{1F}"
  /// The condition for the rows of forms, with ``prefix`` as its parameter.
  private static let condition = "substr(key, 1, length(?1)) = ?1"

  /// By the key of the row.
  private var forms: [String: String] = [:]

  private static func key(_ table: String, _ column: String) -> String {
    prefix + table + "\u{1F}" + column
  }

  /// The forms of the opened columns.
  init(_ schema: Schema) {
    let tables = schema.entities.map { TableInfo($0) } + schema.joinTables.map { TableInfo($0) }
    for table in tables {
      for column in table.columns {
        if let form = column.sampledForm { forms[Self.key(table.name, column.name)] = form }
      }
    }
  }

  /// The forms that the file has stored; none if it has no history.
  init(storedOn connection: Connection) throws(StoreError) {
    guard try History.isPresent(on: connection) else { return }
    let rows = try connection.all(
      "SELECT key, value FROM main.livefetch_store WHERE \(Self.condition)",
      [.text(Self.prefix)]
    ) { ($0.text(0), $0.text(1)) }
    forms = Dictionary(rows) { first, _ in first }
  }

  /// The form of a column; nil if it is not known.
  func form(of column: String, in table: String) -> String? { forms[Self.key(table, column)] }

  /// Replaces the forms that the file has stored, if they differ.
  func store(on connection: Connection) throws(StoreError) {
    guard try SampledColumnForms(storedOn: connection).forms != forms else { return }
    try connection.run(
      "DELETE FROM main.livefetch_store WHERE \(Self.condition)", [.text(Self.prefix)])
    for (key, form) in forms { try History.set(key, .text(form), on: connection) }
  }
}

extension Column {
  /// The form that the column's first value decides; nil if the declared type decides it.
  fileprivate var sampledForm: String? {
    if let dateFormat { return dateFormat.rawValue }
    if case .uuid(let style)? = encoding { return style.rawValue }
    return ColumnSample.declared(declaredType) == nil ? type.rawValue : nil
  }
}
