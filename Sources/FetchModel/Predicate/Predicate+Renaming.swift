// The text of a predicate and new names of properties → the text with the new names.

extension Predicate {
  /// Returns `text` with the new names of properties in its key paths; everything else stays as it
  /// is written. Returns text with a syntax error unchanged. O(n) for n bytes.
  ///
  /// - Parameter newNames: The new names, by the old ones. Names in quotes (`#"a b"`) keep theirs.
  package static func renaming(_ newNames: [String: String], in text: String) -> String {
    var lexer = PredicateLexer(text)
    var result = ""
    var copied = 0
    while let token = try? lexer.next(), token.kind != .end {
      guard let name = token.plainName, let newName = newNames[name] else { continue }
      let start = token.range.upperBound - name.utf8.count
      result += lexer.text(copied..<start) + newName
      copied = token.range.upperBound
    }
    return lexer.offset == lexer.bytes.count
      ? result + lexer.text(copied..<lexer.bytes.count) : text
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
