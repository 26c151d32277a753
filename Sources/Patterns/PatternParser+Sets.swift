// Parses sets in brackets, with ICU's operations:
//
//     [a-z\d_] [^…]   [a[x-z]] a union   [a-z&&[^aeiou]] [[a-z]&[x]] an intersection
//     [a-z--[aeiou]] [[a-z]-[aeiou]] a difference   [[:alpha:]] [\p{L}\Q.\E]
//
// Adjacent elements are united first; `&&` and `--` are applied from left to right. Case is ignored
// in the elements, before `^` complements the set.

extension PatternParser {
  mutating func parseSet() throws(PatternError) -> ScalarSet {
    if isAt("[:"), let set = try parsePOSIX() { return set }
    let start = offset
    return try nested { parser throws(PatternError) in
      parser.offset += 1
      let isNegated = parser.consume("^" as Unicode.Scalar)
      var set = try parser.parseUnion(isFirst: true, in: start)
      while parser.isAt("&&") || parser.isAt("--") {
        let isBoth = parser.next == "&"
        parser.offset += 2
        let other = try parser.parseUnion(isFirst: false, in: start)
        try parser.count(spans: set.spans.count)
        set = isBoth ? set.intersection(other) : set.subtracting(other)
      }
      guard parser.consume("]" as Unicode.Scalar) else {
        throw parser.failure("`[` without `]`", at: start)
      }
      if parser.flags.ignoresCase {
        try parser.count(spans: set.closureSteps)
        set = set.closedOverCase
      }
      return isNegated ? set.complement : set
    }
  }

  /// Parses `[:alpha:]` or `[:^alpha:]`; nil if there is none.
  private mutating func parsePOSIX() throws(PatternError) -> ScalarSet? {
    let start = offset
    var end = offset + 2
    while end < scalars.count, scalars[end] != ":", scalars[end] != "]" { end += 1 }
    guard end + 1 < scalars.count, scalars[end] == ":", scalars[end + 1] == "]" else { return nil }
    var name = String(String.UnicodeScalarView(scalars[start + 2..<end]))
    let isNegated = name.hasPrefix("^")
    if isNegated { name.removeFirst() }
    offset = end + 2
    let set = try property(name, at: start)
    return isNegated ? set.complement : set
  }

  /// The kind of the previous element, which determines the meaning of a sign after it.
  private enum Last { case nothing, character, several, set }

  /// Parses adjacent elements up to `]`, `&&` or `--`.
  private mutating func parseUnion(
    isFirst: Bool, in start: Int
  ) throws(PatternError) -> ScalarSet {
    var joined = ScalarSet()
    var spans: [ScalarSet.Span] = []
    var last = Last.nothing
    while true {
      skipSpace()
      guard let scalar = next else { throw failure("`[` without `]`", at: start) }
      let isEnd = isAt("&&") || isAt("--") || (scalar == "]" && !(isFirst && last == .nothing))
      if isEnd {
        guard last != .nothing else { throw failure("a set's operator with nothing beside it") }
        return ScalarSet(joined.spans + spans)
      }
      if last == .set, isAt("-[") || isAt("&[") {
        offset += 1
        let other = try parseSet()
        joined = ScalarSet(joined.spans + spans)
        spans = []
        try count(spans: joined.spans.count)
        joined = scalar == "-" ? joined.subtracting(other) : joined.intersection(other)
      } else {
        last = try parseItem(into: &spans)
      }
    }
  }

  private mutating func parseItem(
    into spans: inout [ScalarSet.Span]
  ) throws(PatternError) -> Last {
    if next == "[" {
      try append(parseSet(), to: &spans)
      return .set
    }
    if isAt("\\Q") { return try parseQuotation(into: &spans) }
    let isNamed = isAt("\\p") || isAt("\\P")
    if next == "\\", let set = try parseProperty() {
      try append(set, to: &spans)
      return isNamed ? .set : .several
    }
    let start = offset
    let first = try parseSetCharacter()
    guard next == "-", !isAt("--"), let end = peek(1), end != "]", end != "[" else {
      spans.append(first.value...first.value)
      return .character
    }
    offset += 1
    let last = try parseRangeEnd(at: start)
    guard first.value <= last.value else { throw failure("a range that runs backwards", at: start) }
    spans.append(first.value...last.value)
    return .several
  }

  private mutating func append(
    _ set: ScalarSet, to spans: inout [ScalarSet.Span]
  ) throws(PatternError) {
    try count(spans: set.spans.count)
    spans += set.spans
  }

  private mutating func parseRangeEnd(at start: Int) throws(PatternError) -> Unicode.Scalar {
    if next == "\\", let letter = peek(1), "dDwWsShHvVpPQ".unicodeScalars.contains(letter) {
      throw failure("a range that ends in a set", at: start)
    }
    return try parseSetCharacter()
  }

  private mutating func parseSetCharacter() throws(PatternError) -> Unicode.Scalar {
    guard let scalar = next else { throw failure("`[` without `]`") }
    if scalar == "\\" { return try parseEscapedCharacter() }
    offset += 1
    return scalar
  }

  private mutating func parseQuotation(
    into spans: inout [ScalarSet.Span]
  ) throws(PatternError) -> Last {
    let start = offset
    offset += 2
    while !consume("\\E") {
      guard let scalar = next else { throw failure("`\\Q` without `\\E`", at: start) }
      spans.append(scalar.value...scalar.value)
      offset += 1
    }
    return .character
  }
}
