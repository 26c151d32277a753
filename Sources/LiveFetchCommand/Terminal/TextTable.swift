// Rows of cells → lines with the columns under each other.

/// A table of text. A cell is as wide as its characters are in a terminal.
struct TextTable {
  private let columns: [String]
  private let numeric: Set<Int>
  private var rows: [[String]] = []

  /// - Parameter numeric: the columns whose cells stand at the right.
  init(columns: [String], numeric: Set<Int> = []) {
    self.columns = columns
    self.numeric = numeric
  }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// The lines, without a break behind the last.
  func text() -> String {
    let widths = Self.widths(of: [columns] + rows)
    return ([columns] + rows).map { line($0, widths) }.joined(separator: "\n")
  }

  /// The widest cell of each column.
  static func widths(of rows: [[String]]) -> [Int] {
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], cell.terminalWidth)
      }
    }
    return widths
  }

  private func line(_ row: [String], _ widths: [Int]) -> String {
    let cells = row.enumerated().map { column, cell in
      cell.padded(to: widths[column], atRight: numeric.contains(column))
    }
    return cells.joined(separator: "  ").trimmingEnd
  }
}

extension String {
  /// How many columns of a terminal it takes: two for wide letters, none for combining marks.
  var terminalWidth: Int {
    var width = 0
    for scalar in unicodeScalars { width += scalar.terminalWidth }
    return width
  }

  /// Filled with spaces, behind it or (`atRight`) before it.
  func padded(to width: Int, atRight: Bool = false) -> String {
    let fill = String(repeating: " ", count: max(0, width - terminalWidth))
    return atRight ? fill + self : self + fill
  }

  /// Cut to `width` columns, with `…` at the end where something was cut off.
  func shortened(to width: Int) -> String {
    guard terminalWidth > width else { return self }
    var result = ""
    var used = 1
    for character in self {
      used += String(character).terminalWidth
      guard used <= width else { break }
      result.append(character)
    }
    return result + "…"
  }

  /// Without spaces at its end.
  var trimmingEnd: String {
    var end = endIndex
    while end > startIndex, self[index(before: end)] == " " { end = index(before: end) }
    return String(self[..<end])
  }
}

extension Unicode.Scalar {
  fileprivate var terminalWidth: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
      0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
