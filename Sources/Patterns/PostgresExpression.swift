// A pattern of MATCHES → a regular expression of PostgreSQL that matches the same texts. The pattern is
// parsed here, and its syntax tree is written with only those constructs whose meaning is the same
// there: sets of code points, repetitions, alternatives, and constraints on the neighbouring characters.

/// A pattern in PostgreSQL's syntax.
package enum PostgresExpression: Sendable, Hashable {
  /// The expression. It matches a text as a whole.
  case expression(String)
  /// The pattern is not valid: it matches nothing.
  case nothing
  /// The pattern has a meaning that PostgreSQL cannot express.
  case inexpressible

  /// Translates `pattern`.
  package init(_ pattern: String, ignoresCase: Bool) {
    // The compiler refuses what needs backtracking, and what is too large.
    guard (try? RegularExpression(pattern, ignoresCase: ignoresCase)) != nil else {
      self = .nothing
      return
    }
    var parser = PatternParser(pattern, ignoresCase: ignoresCase)
    self = (try? parser.parse()).map(Self.init) ?? .nothing
  }

  /// The expression of LIKE with the option `c`, whose `?` is one character even if that folds to two.
  package init(like pattern: String) {
    self.init(LikePattern(pattern).foldedNode)
  }

  private init(_ node: PatternNode) {
    var writer = Writer()
    writer.write(node)
    self = writer.isExpressible ? .expression("\\A(?:\(writer.text))\\Z") : .inexpressible
  }
}

private struct Writer {
  private(set) var text = ""
  private(set) var isExpressible = true

  /// The maximum number of bytes of an expression.
  private static let longest = 256 << 10

  mutating func write(_ node: PatternNode) {
    guard isExpressible, text.utf8.count < Self.longest else {
      isExpressible = false
      return
    }
    switch node {
    case .sequence(let nodes): for node in nodes { write(node) }
    case .alternatives(let nodes): writeAlternatives(nodes)
    case .character(let set): text += Self.bracket(set)
    case .folded(let letters): writeFolded(letters[...])
    case .unit(.cluster): isExpressible = false
    case .unit(let unit): write(PatternNode.parts(of: unit))
    case .repetition(let node, let least, let most, let greediness):
      write(node, least: least, most: most, taken: greediness == .possessive ? node.firsts : nil)
    case .assertion(let assertion): write(assertion)
    }
  }

  private mutating func writeAlternatives(_ nodes: [PatternNode]) {
    text += "(?:"
    for (index, node) in nodes.enumerated() {
      if index > 0 { text += "|" }
      // An empty alternative needs an element.
      text += "(?:"
      write(node)
      text += ")"
    }
    text += ")"
  }

  /// - Parameter taken: the characters of a possessive repetition, none of which may follow unless
  ///   there are `most`.
  private mutating func write(
    _ node: PatternNode, least: Int, most: Int?, taken: ScalarSet?
  ) {
    var writer = Writer()
    writer.write(node)
    isExpressible = isExpressible && writer.isExpressible
    let element = "(?:\(writer.text))"
    text += "(?:"
    guard let taken else {
      write(element, least: least, most: most)
      text += ")"
      return
    }
    if most.map({ $0 > least }) ?? true {
      write(element, least: least, most: most.map { $0 - 1 })
      text += "(?!\(Self.bracket(taken)))"
      if most != nil { text += "|" }
    }
    if let most { write(element, least: most, most: most) }
    text += ")"
  }

  /// PostgreSQL counts to 255.
  private mutating func write(_ element: String, least: Int, most: Int?) {
    var required = least
    while required > 0 {
      let count = min(required, 255)
      text += "\(element){\(count)}"
      required -= count
      guard text.utf8.count < Self.longest else {
        isExpressible = false
        return
      }
    }
    guard let most else {
      text += "\(element)*"
      return
    }
    var optional = most - least
    while optional > 0 {
      let count = min(optional, 255)
      text += "\(element){0,\(count)}"
      optional -= count
    }
    if most == 0 { text += "(?:)" }
  }

  // MARK: Characters

  private static func escape(_ code: UInt32) -> String {
    let digits = String(code, radix: 16, uppercase: true)
    return #"\U"# + String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  private static func bracket(_ set: ScalarSet) -> String { "[\(ranges(set))]" }

  /// A text cannot contain U+0000, so code 0 represents the absence of a character.
  private static func ranges(_ set: ScalarSet) -> String {
    let spans = set.spans.filter { $0.upperBound > 0 }
    guard !spans.isEmpty else { return "^\(escape(1))-\(escape(0x10FFFF))" }
    return spans.map { span in
      let first = max(span.lowerBound, 1)
      return first == span.upperBound
        ? escape(first) : "\(escape(first))-\(escape(span.upperBound))"
    }.joined()
  }

  /// The texts whose folding is `letters`: at each place a character that folds to the next letter, or
  /// to the next two or three.
  private mutating func writeFolded(_ letters: ArraySlice<Unicode.Scalar>) {
    var rest = letters
    while let letter = rest.first {
      let single = ScalarSet(letter).closedOverCase
      let several = CaseFolding.expansions[letter, default: []].filter { expansion in
        rest.starts(with: expansion.letters)
      }
      guard let longest = several.map(\.letters.count).max() else {
        text += Self.bracket(single)
        rest = rest.dropFirst()
        continue
      }
      // Up to the end of the longest expansion, which another one may cross.
      var end = rest.startIndex + longest
      var place = rest.startIndex
      while place < end {
        for other in CaseFolding.expansions[letters[place], default: []]
        where letters[place...].starts(with: other.letters) {
          end = max(end, place + other.letters.count)
        }
        place += 1
      }
      guard end - rest.startIndex <= 12 else {
        isExpressible = false
        return
      }
      text += Self.segmentations(rest[..<end])
      rest = rest[end...]
    }
  }

  /// Every way to write `letters` by characters that fold to them. Exponential in the few letters.
  private static func segmentations(_ letters: ArraySlice<Unicode.Scalar>) -> String {
    guard let letter = letters.first else { return "" }
    var ways = [bracket(ScalarSet(letter).closedOverCase) + segmentations(letters.dropFirst())]
    for expansion in CaseFolding.expansions[letter, default: []]
    where letters.starts(with: expansion.letters) {
      ways.append(
        bracket(ScalarSet(expansion.scalars.map { $0.value...$0.value }))
          + segmentations(letters.dropFirst(expansion.letters.count)))
    }
    return ways.count == 1 ? ways[0] : "(?:\(ways.joined(separator: "|")))"
  }

  // MARK: Assertions

  private static let newline = ScalarSet("\n")
  private static let otherLineEnds = bracket(ScalarSet.lineEnds.subtracting(newline))
  private static let lineEnds = bracket(.lineEnds)

  private mutating func write(_ assertion: RegularExpression.Assertion) {
    switch assertion {
    case .textStart: text += #"\A"#
    case .textEnd: text += #"\Z"#
    case .textEndOrFinalNewline: text += #"(?:\Z|(?=\n\Z))"#
    case .textEndOrFinalLineEnd:
      text += #"(?:\Z|(?=\#(Self.otherLineEnds)\Z)|(?=\r\n\Z)|(?<!\r)(?=\n\Z))"#
    case .lineStart: text += #"(?:\A|(?<=\#(Self.lineEnds))(?!\Z))"#
    case .lineEnd: text += #"(?:\Z|(?=\#(Self.otherLineEnds))|(?<!\r)(?=\n))"#
    case .unixLineStart: text += #"(?:\A|(?<=\n))"#
    case .unixLineEnd: text += #"(?:\Z|(?=\n))"#
    case .wordBoundary: text += Self.wordBoundary
    case .noWordBoundary: text += Self.noWordBoundary
    case .clusterBoundary, .noClusterBoundary: isExpressible = false
    case .notBefore(let set): text += "(?!\(Self.bracket(set)))"
    }
  }

  /// Marks and formats, which belong to the character before them.
  private static let attached: ScalarSet = {
    var spans: [ScalarSet.Span] = []
    // The planes between these have none.
    for code in Array(UInt32(0x80)...0x1FFFF) + Array(0xE0000...0xE0FFF) {
      guard let scalar = Unicode.Scalar(code) else { continue }
      let properties = scalar.properties
      if properties.isGraphemeExtend || properties.generalCategory == .format {
        spans.append(code...code)
      }
    }
    return ScalarSet(spans)
  }()

  private static let word = bracket(ScalarSet.word.subtracting(attached))
  private static let noWord = bracket(ScalarSet.word.union(attached).complement)
  private static let afterWord = "(?<=\(word)\(bracket(attached))*)"
  private static let notAfterWord = "(?<!\(word)\(bracket(attached))*)"

  private static let wordBoundary =
    "(?:\(afterWord)(?:\\Z|(?=\(noWord)))|\(notAfterWord)(?=\(word)))"

  private static let noWordBoundary =
    "(?:\(afterWord)(?=\(word))|\(notAfterWord)(?:\\Z|(?=\(noWord)))|(?=\(bracket(attached))))"
}
