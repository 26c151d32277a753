// The backslash in the strings of predicates, and back to text.

import FetchModel
import Testing

@Suite("Escapes in predicates")
struct PredicateEscapeTests {
  private func text(of predicate: String) throws -> String? {
    guard case .comparison(let comparison) = try Predicate(parsing: predicate),
      case .literal(.string(let text)) = comparison.right.kind
    else { return nil }
    return text
  }

  @Test(
    "a backslash escapes these characters; before any other it represents itself",
    arguments: [
      (#"a == 'it\'s'"#, "it's"), (#"a == "\"x\"""#, "\"x\""), (#"a == '\\'"#, "\\"),
      (#"a == 'x\ny\tz\r'"#, "x\ny\tz\r"), (#"a == '\u0041\u00e9'"#, "Aé"),
      (#"a == '\ud83d\ude00'"#, "😀"), (#"a MATCHES '\d+\b'"#, #"\d+\b"#),
      (#"a MATCHES '\\d+'"#, #"\d+"#), (#"a LIKE '\*\?'"#, #"\*\?"#), (#"a == 'C:\q'"#, #"C:\q"#),
      (#"a == '\é'"#, #"\é"#), (#"a == '\😀'"#, #"\😀"#), (#"a == '\0'"#, #"\0"#),
      (#"a == '\N{X}'"#, #"\N{X}"#), (#"a == '\\\\'"#, #"\\"#), (#"a == '\\\''"#, #"\'"#),
    ])
  func escapes(predicate: String, expected: String) throws {
    #expect(try text(of: predicate) == expected)
    // The canonical text parses to the same predicate.
    let canonical = try Predicate(parsing: predicate).description
    #expect(try text(of: canonical) == expected)
    #expect(try Predicate(parsing: canonical).description == canonical)
  }

  @Test(
    "incomplete escapes are refused at their offset",
    arguments: [
      (#"a == '\u12'"#, 6), (#"a == 'x\u12g4'"#, 7), (#"a == '\ud83d'"#, 6),
      (#"a == '\ud83d\u0041'"#, 6), (#"a == '\udc00'"#, 6), (#"a == 'x\'"#, 5), (#"a == 'x\"#, 5),
    ])
  func refusals(predicate: String, offset: Int) {
    #expect {
      try Predicate(parsing: predicate)
    } throws: { error in
      (error as? PredicateError)?.offset == offset
    }
  }

  @Test("every character survives escaping and parsing")
  func everyCharacter() throws {
    for code in Array(UInt32(0)..<0x300) + [0x2028, 0xFEFF, 0xFFFF, 0x1F600, 0x10FFFF] {
      guard let scalar = Unicode.Scalar(code) else { continue }
      let given = "x\(scalar)\\\(scalar)'\""
      let predicate = Predicate.comparison(
        ComparisonPredicate(
          left: Expression(.keyPath(base: nil, [KeyPathComponent(.name("a"))])), operation: .equal,
          right: Expression(.literal(.string(given)))))
      #expect(try text(of: predicate.description) == given, "\(code)")
    }
  }
}
