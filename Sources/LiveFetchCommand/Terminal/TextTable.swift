// Rows of cells → lines with the columns under each other.

import FetchModel

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
    let isPlain = utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    return isPlain ? utf8.count : reduce(0) { $0 + $1.columns }
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
      used += character.columns
      guard used <= width else { break }
      result.append(character)
    }
    return result + "…"
  }

  /// Fit to be shown: breaks and tabs as spaces, other control characters as their pictures, so
  /// that no stored value commands the terminal.
  var onOneLine: String {
    String(
      String.UnicodeScalarView(
        map { $0.isNewline || $0 == "\t" ? " " : $0 }
          .flatMap(\.unicodeScalars).map(\.picture)))
  }

  /// Without spaces at its end.
  var trimmingEnd: String {
    var end = endIndex
    while end > startIndex, self[index(before: end)] == " " { end = index(before: end) }
    return String(self[..<end])
  }
}

extension Unicode.Scalar {
  /// What stands for it where it is a control character: `␛`.
  fileprivate var picture: Unicode.Scalar {
    switch value {
    case 0..<0x20: Unicode.Scalar(0x2400 + value) ?? self
    case 0x7F: "\u{2421}"
    case 0x80..<0xA0: "\u{FFFD}"
    default: self
    }
  }
}
