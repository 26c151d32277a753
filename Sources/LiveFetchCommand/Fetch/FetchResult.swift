// A snapshot's JSON → rows of cells.

import FetchModel

/// A snapshot prepared for printing.
struct FetchResult {
  struct Row {
    /// The object's id as text.
    let id: String
    let cells: [String]
  }

  struct Section {
    let name: String
    let rows: [Row]
  }

  let columns: [String]
  /// The indexes of the columns whose values are all numbers or null.
  let numeric: Set<Int>
  let sections: [Section]
  /// True if more objects match than `--max-items`.
  let isTruncated: Bool

  /// - Parameter columnsIfEmpty: The columns if the result has no items.
  init(_ json: JSON, columnsIfEmpty: [String] = []) {
    isTruncated = json["truncated"] == .boolean(true)
    let read = Self.sections(json)
    let items = read.flatMap(\.items)
    let columns =
      items.isEmpty && !columnsIfEmpty.isEmpty ? columnsIfEmpty : Self.columns(of: items)
    self.columns = columns
    numeric = Self.numeric(columns, items)
    sections = read.map { section in
      Section(
        name: section.name,
        rows: section.items.map { item in
          Row(
            id: (item["id"] ?? item).cellText,
            cells: columns.map { Self.value($0, of: item).cellText })
        })
    }
  }

  var count: Int { sections.reduce(0) { $0 + $1.rows.count } }
  var isSectioned: Bool { sections.count > 1 || sections.first.map { !$0.name.isEmpty } ?? false }

  static func sections(_ json: JSON) -> [(name: String, items: [JSON])] {
    (json["sections"]?.elements ?? []).map { section in
      (section["name"]?.string ?? "", section["items"]?.elements ?? [])
    }
  }

  /// Returns the names of the first item's members; only `id` if items are ids.
  static func columns(of items: [JSON]) -> [String] {
    guard case .object(let members)? = items.first else { return ["id"] }
    return members.map(\.name)
  }

  static func value(_ name: String, of item: JSON) -> JSON {
    guard case .object = item else { return item }
    return item[name] ?? .null
  }

  private static func numeric(_ columns: [String], _ items: [JSON]) -> Set<Int> {
    var numeric = Set(columns.indices)
    for item in items {
      for column in numeric {
        switch value(columns[column], of: item) {
        case .number, .null: continue
        default: numeric.remove(column)
        }
      }
    }
    return numeric
  }
}
