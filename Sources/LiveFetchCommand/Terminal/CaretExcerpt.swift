// A text and the place of an error in it → the line, and carets under the error.

/// A line of text with carets under a part of it, for terminals.
///
/// Columns are counted as a terminal shows wide letters, combining marks and tabs.
enum CaretExcerpt {
  /// The line of `text` that contains the byte at `offset`, and a line of carets below it.
  ///
  /// - Parameters:
  ///   - offset: bytes of UTF-8 from the start; an offset past the end points after the text.
  ///   - found: the wrong text in back quotes, which may be shortened. There is one caret for anything else.
  ///   - width: columns of a line; a longer one is cut on both sides.
  static func lines(
    of text: String, at offset: Int, found: String, width: Int
  ) -> String {
    lines(of: text, at: offset, length: length(ofFound: found, in: text, at: offset), width: width)
  }

  /// - Parameter length: the number of wrong bytes; at least one caret is shown.
  static func lines(of text: String, at offset: Int, length: Int, width: Int) -> String {
    var line = ExcerptLine(text, at: offset, length: length)
    line.fit(max(width, 20))
    return line.text + "\n" + line.carets
  }

  private static func length(ofFound found: String, in text: String, at offset: Int) -> Int {
    guard found.hasPrefix("`"), let end = found.lastIndex(of: "`") else { return 1 }
    var quoted = found[..<end].dropFirst()
    if quoted.hasSuffix("…") { quoted.removeLast() }
    let isThere = text.utf8.dropFirst(max(0, offset)).starts(with: quoted.utf8)
    return isThere ? max(1, quoted.utf8.count) : 1
  }
}

/// One line as columns, some of them marked.
private struct ExcerptLine {
  private struct Cell {
    let text: String
    let width: Int
    let isWrong: Bool
  }

  /// The bytes before and after the error that are examined.
  private static let reach = 2_000

  private var cells: [Cell] = []
  /// The first marked cell.
  private var place = 0

  init(_ whole: String, at offset: Int, length: Int) {
    let bytes = Array(whole.utf8)
    // Clamp the arguments, so that sums do not overflow.
    let length = min(max(1, length), bytes.count + 1)
    let offset = min(max(0, offset), bytes.count)
    let isBreak = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
    // Limit the bytes examined to those that a line can show.
    let (first, last) = (max(0, offset - Self.reach), min(bytes.count, offset + Self.reach))
    var start = bytes[first..<offset].lastIndex(where: isBreak).map { $0 + 1 } ?? first
    while start < offset, bytes[start] & 0xC0 == 0x80 { start += 1 }
    var end = bytes[offset..<last].firstIndex(where: isBreak) ?? last
    while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
    let wrong = offset..<(offset + length)
    var byte = start
    for character in String(decoding: bytes[start..<end], as: UTF8.self) {
      let size = character.utf8.count
      let isWrong = byte < wrong.upperBound && byte + size > wrong.lowerBound
      if byte + size <= offset { place += 1 }
      cells.append(Self.cell(character, isWrong))
      byte += size
    }
    if place >= cells.count { cells.append(Cell(text: "", width: 1, isWrong: true)) }
  }

  private static func cell(_ character: Character, _ isWrong: Bool) -> Cell {
    if character == "\t" { return Cell(text: "\t", width: 1, isWrong: isWrong) }
    // Control characters could change the terminal's state.
    let isControl = character.unicodeScalars.contains { $0.properties.generalCategory == .control }
    let text = isControl ? "·" : String(character)
    return Cell(text: text, width: isControl ? 1 : character.columns, isWrong: isWrong)
  }

  /// Cuts the line to `width` columns around the first marked cell.
  mutating func fit(_ width: Int) {
    guard cells.reduce(0, { $0 + $1.width }) > width else { return }
    let first = fitting(cells[..<place].reversed(), width / 2)
    let last = fitting(cells[place...], width - 2 - width / 2)
    let (start, end) = (place - first, place + last)
    var kept = Array(cells[start..<end])
    let ellipsis = Cell(text: "…", width: 1, isWrong: false)
    if start > 0 { kept.insert(ellipsis, at: 0) }
    if end < cells.count { kept.append(ellipsis) }
    cells = kept
  }

  /// The number of `cells` that fit into `width` columns.
  private func fitting(_ cells: some Sequence<Cell>, _ width: Int) -> Int {
    var columns = 0
    return cells.prefix {
      columns += $0.width
      return columns <= width
    }.count
  }

  var text: String { cells.map(\.text).joined() }

  /// Spaces up to the carets, with tabs in the positions of the line's tabs.
  var carets: String {
    var carets = ""
    for cell in cells.prefix(through: cells.lastIndex(where: \.isWrong) ?? 0) {
      if cell.isWrong {
        carets += String(repeating: "^", count: max(1, cell.width))
      } else {
        carets += cell.text == "\t" ? "\t" : String(repeating: " ", count: cell.width)
      }
    }
    return carets
  }
}

extension Character {
  /// The number of columns in a terminal.
  var columns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      return 2
    default: break
    }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return 1
    }
  }
}
