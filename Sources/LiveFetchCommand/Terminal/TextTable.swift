// Rows of cells → lines with aligned columns.

import FetchModel

/// A table of text. Cells are measured by their width in a terminal.
struct TextTable {
  private let columns: [String]
  private var rows: [[String]] = []

  init(columns: [String]) { self.columns = columns }

  mutating func add(_ row: [String]) { rows.append(row) }

  /// Returns the lines, without a final line break.
  func text() -> String {
    let widths = Self.widths(of: [columns] + rows)
    return ([columns] + rows).map { line($0, widths) }.joined(separator: "\n")
  }

  /// Returns the width of the widest cell of each column.
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
    zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ").trimmingEnd
  }
}

extension String {
  /// The number of terminal columns: two for wide letters, none for combining marks.
  var terminalWidth: Int {
    let isPlain = utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    return isPlain ? utf8.count : reduce(0) { $0 + $1.columns }
  }

  /// Returns the text with spaces after it, or before it if `atRight`.
  func padded(to width: Int, atRight: Bool = false) -> String {
    let fill = String(repeating: " ", count: max(0, width - terminalWidth))
    return atRight ? fill + self : self + fill
  }

  /// Returns the text truncated to `width` columns, with `…` at the end if it was truncated.
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

  /// The text for display on one line: spaces for line breaks and tabs, and visible symbols for
  /// other control characters, so that no stored value can control the terminal.
  var onOneLine: String {
    String(
      String.UnicodeScalarView(
        map { $0.isNewline || $0 == "\t" ? " " : $0 }
          .flatMap(\.unicodeScalars).map(\.visible)))
  }

  /// The text without trailing spaces.
  var trimmingEnd: String {
    var end = endIndex
    while end > startIndex, self[index(before: end)] == " " { end = index(before: end) }
    return String(self[..<end])
  }
}

extension Unicode.Scalar {
  /// The visible symbol of a control character: `␛`. One that changes the direction of the text beside
  /// it has none.
  fileprivate var visible: Unicode.Scalar {
    switch value {
    case 0..<0x20: Unicode.Scalar(0x2400 + value) ?? self
    case 0x7F: "\u{2421}"
    case 0x80..<0xA0, 0x202A...0x202E, 0x2066...0x2069: "\u{FFFD}"
    default: self
    }
  }
}
