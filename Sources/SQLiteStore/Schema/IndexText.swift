// The text of a CREATE INDEX → the SQL of its expressions and of its condition, which the catalog
// does not list separately.

import SQLComposer

/// The parts of an index's SQL text.
struct IndexText {
  private var terms: [String] = []
  /// The condition of a partial index.
  private(set) var condition: String?

  /// - Parameter sql: The catalog's text; empty for indexes that a table declares.
  init(_ sql: String) {
    var scanner = IndexScanner(sql)
    guard scanner.skip(to: "(") else { return }
    while let (term, end) = scanner.term() {
      terms.append(term)
      if end != "," { break }
    }
    condition = scanner.afterWhere()
  }

  /// Returns the expression of the term at `index`, in parentheses.
  func expression(at index: Int) -> String? {
    terms.indices.contains(index) ? "(\(Self.withoutSuffix(terms[index])))" : nil
  }

  /// Returns a term without the ASC or DESC at its end.
  private static func withoutSuffix(_ term: String) -> String {
    let words = term.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "$" }
    guard let last = words.last, ["asc", "desc"].contains(folded(String(last))),
      term[last.endIndex...].allSatisfy(\.isWhitespace)
    else { return term }
    return String(term[..<last.startIndex])
  }
}

/// Scans SQL text. Skips strings and quoted names as units.
struct IndexScanner {
  /// Without comments.
  private var text: [Unicode.Scalar]
  private var offset = 0

  init(_ sql: String) {
    text = Array(sql.unicodeScalars)
    var kept: [Unicode.Scalar] = []
    while offset < text.count {
      let start = offset
      if skipComment() {
        kept.append(" ")
      } else {
        advance()
        kept += text[start..<offset]
      }
    }
    text = kept
    offset = 0
  }

  /// Moves past the next `target` outside of quotes.
  mutating func skip(to target: Unicode.Scalar) -> Bool {
    while offset < text.count {
      let start = offset
      advance()
      if text[start] == target { return true }
    }
    return false
  }

  /// Returns the text before the comma or parenthesis that ends a term, and that character.
  mutating func term() -> (String, Unicode.Scalar)? { part(before: [",", ")"]) }

  /// Returns the text before the next of `ends` that is not in inner parentheses, and that
  /// character. Moves past it.
  private mutating func part(before ends: Set<Unicode.Scalar>) -> (String, Unicode.Scalar)? {
    let start = offset
    var depth = 0
    while offset < text.count {
      let scalar = text[offset]
      if depth == 0, ends.contains(scalar) {
        defer { offset += 1 }
        return (string(start..<offset), scalar)
      }
      if scalar == "(" { depth += 1 }
      if scalar == ")" { depth -= 1 }
      advance()
    }
    return nil
  }

  /// Returns the text in the parentheses after the next `word`, and moves past them; nil at the
  /// end.
  mutating func parenthesized(after word: String) -> String? {
    while offset < text.count {
      guard isNamePart(text[offset]) else {
        advance()
        continue
      }
      let start = offset
      while offset < text.count, isNamePart(text[offset]) { offset += 1 }
      guard folded(string(start..<offset)) == word else { continue }
      while offset < text.count, text[offset].properties.isWhitespace { offset += 1 }
      guard offset < text.count, text[offset] == "(" else { continue }
      offset += 1
      return part(before: [")"])?.0
    }
    return nil
  }

  private func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar == "$" || scalar.properties.isAlphabetic
      || scalar.properties.numericType != nil
  }

  /// Returns the text after WHERE.
  mutating func afterWhere() -> String? {
    let rest = string(offset..<text.count)
    let start = rest.drop(while: \.isWhitespace)
    guard folded(String(start.prefix(5))) == "where" else { return nil }
    return String(start.dropFirst(5))
  }

  private func string(_ range: Range<Int>) -> String {
    String(String.UnicodeScalarView(text[range]))
  }

  /// Moves past one character, or one quoted name or string.
  private mutating func advance() {
    let closing: Unicode.Scalar? =
      switch text[offset] {
      case "'", "\"", "`": text[offset]
      case "[": "]"
      default: nil
      }
    offset += 1
    guard let closing else { return }
    while offset < text.count, text[offset] != closing { offset += 1 }
    offset = min(offset + 1, text.count)
  }

  private mutating func skipComment() -> Bool {
    guard offset + 1 < text.count else { return false }
    switch (text[offset], text[offset + 1]) {
    case ("-", "-"):
      while offset < text.count, text[offset] != "\n" { offset += 1 }
    case ("/", "*"):
      offset += 2
      while offset + 1 < text.count, !(text[offset] == "*" && text[offset + 1] == "/") {
        offset += 1
      }
      offset = min(offset + 2, text.count)
    default: return false
    }
    return true
  }
}
