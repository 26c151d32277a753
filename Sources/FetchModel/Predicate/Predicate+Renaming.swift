// The text of a predicate and new names → the text with the new names.

extension Predicate {
  /// Returns `text` with a new name for each name that is a key of `newNames`; everything else stays as
  /// it is written. A key of `newNames` is renamed in key paths of every entity. Returns `text` unchanged
  /// if it cannot be split into tokens. O(n) for n bytes.
  ///
  /// - Parameter newNames: The new names, by the old ones. Names in quotes (`#"a b"`) stay as they are.
  package static func renaming(_ newNames: [String: String], in text: String) -> String {
    var lexer = PredicateLexer(text)
    var result = ""
    var copied = 0
    while true {
      guard let token = try? lexer.next() else { return text }
      if token.kind == .end { break }
      guard let name = token.plainName, let newName = newNames[name] else { continue }
      let start = token.range.upperBound - name.utf8.count
      result += lexer.text(copied..<start) + newName
      copied = token.range.upperBound
    }
    return result + lexer.text(copied..<lexer.bytes.count)
  }
}

extension PredicateToken {
  /// The name of a property, written `name` or `#name`; nil for other tokens.
  fileprivate var plainName: String? {
    switch kind {
    case .word(let name, nil): name
    case .escapedWord(let name) where range.count == name.utf8.count + 1: name
    default: nil
    }
  }
}
