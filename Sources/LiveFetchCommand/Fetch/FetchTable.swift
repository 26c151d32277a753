// Rows → the lines of a table, with sections, and marks for changes.

import FetchModel

/// Draws results.
struct FetchTable {
  /// The maximum width of a cell on a terminal.
  private static let widest = 48

  let result: FetchResult
  let terminal: Terminal
  var changes = RowChanges()

  /// Returns one line for each row, including headings.
  func lines() -> [String] {
    let rows = result.sections.flatMap(\.rows)
    let limit = terminal.isTerminal ? Self.widest : .max
    let cells = [result.columns.map(\.onOneLine)] + rows.map(\.cells)
    let widths = TextTable.widths(of: cells).map { min($0, limit) }
    let isMarked = changes.isMarking
    var lines = [heading(widths, isMarked)]
    for section in result.sections {
      if result.isSectioned {
        let name = section.name.isEmpty ? "(nil)" : section.name.onOneLine
        lines.append(terminal.paint("\(name) (\(section.rows.count))", .blue))
      }
      for row in section.rows { lines.append(line(row, widths, isMarked: isMarked)) }
    }
    return lines
  }

  private func heading(_ widths: [Int], _ isMarked: Bool) -> String {
    let names = result.columns.enumerated().map { index, name in
      name.onOneLine.shortened(to: widths[index])
        .padded(to: widths[index], atRight: result.numeric.contains(index))
    }
    return terminal.paint(
      ((isMarked ? "  " : "") + names.joined(separator: "  ")).trimmingEnd, .bold)
  }

  private func line(_ row: FetchResult.Row, _ widths: [Int], isMarked: Bool) -> String {
    let change = changes.byID[row.id]
    let cells = row.cells.enumerated().map { index, cell in
      let text = cell.shortened(to: widths[index])
        .padded(to: widths[index], atRight: result.numeric.contains(index))
      if change == .inserted { return terminal.paint(text, .green) }
      let isChanged = changes.cells[row.id]?.contains(result.columns[index]) ?? false
      return isChanged ? terminal.paint(text, .yellow) : text
    }
    let mark = isMarked ? "\(change?.mark ?? " ") " : ""
    return (mark + cells.joined(separator: "  ")).trimmingEnd
  }
}

/// The differences between two results, by row.
struct RowChanges {
  enum Kind: Hashable {
    case inserted, updated, up, down

    var mark: String {
      switch self {
      case .inserted: "+"
      case .updated: "~"
      case .up: "↑"
      case .down: "↓"
      }
    }
  }

  var isMarking = false
  /// The kind of change of each row, by id.
  private(set) var byID: [String: Kind] = [:]
  /// The names of the columns whose cells differ, by id.
  private(set) var cells: [String: Set<String>] = [:]
  private(set) var deleted: [FetchResult.Row] = []

  init() {}

  init(from old: FetchResult, to new: FetchResult) {
    isMarking = true
    let oldRows = old.sections.flatMap(\.rows)
    let newRows = new.sections.flatMap(\.rows)
    let places = Dictionary(
      oldRows.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    let kept = Set(newRows.map(\.id))
    deleted = oldRows.filter { !kept.contains($0.id) }
    for row in newRows {
      guard let place = places[row.id] else {
        byID[row.id] = .inserted
        continue
      }
      let differing = Self.differing(oldRows[place], old.columns, row, new.columns)
      if !differing.isEmpty {
        cells[row.id] = differing
        byID[row.id] = .updated
      }
    }
    markMoves(newRows.filter { places[$0.id] != nil }, places)
  }

  private static func differing(
    _ old: FetchResult.Row, _ oldColumns: [String], _ new: FetchResult.Row, _ columns: [String]
  ) -> Set<String> {
    let before = Dictionary(zip(oldColumns, old.cells), uniquingKeysWith: { first, _ in first })
    return Set(zip(columns, new.cells).filter { before[$0] != $1 }.map(\.0))
  }

  /// Marks as few moves as possible: the rows outside of a longest increasing subsequence of old
  /// positions.
  private mutating func markMoves(_ rows: [FetchResult.Row], _ places: [String: Int]) {
    let old = rows.map { places[$0.id] ?? 0 }
    let staying = Set(longestIncreasingSubsequence(of: old))
    let ranks = Dictionary(
      old.sorted().enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for (index, row) in rows.enumerated() where !staying.contains(index) {
      byID[row.id] = index < (ranks[old[index]] ?? 0) ? .up : .down
    }
  }
}
