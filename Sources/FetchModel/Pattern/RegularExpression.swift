// MATCHES: a regular expression over a whole text, in time linear in the text whatever the pattern.
//
// The pattern becomes a program that is run for all its possible states at once (Thompson), so
// nothing is ever tried twice. The language is ICU's without what needs memory of earlier text:
//
//     a . [a-z] [^a-z] \d \w \s \h \p{L} and their opposites   x* x+ x? x{2} x{2,} x{2,5}, lazy too
//     (x) (?:x) (?<name>x) x|y (?i) (?s) (?m) (?x-i:y)          ^ $ \A \z \Z \b \B
//     \t \n \r \f \a \e \x41 \x{1F600} \u0041 \U0001F600 \Q…\E   \ before any other sign
//
// Backreferences, lookaround, atomic groups and possessive quantifiers are refused, and so are
// patterns whose program would be larger than ``largestProgram``.

/// A compiled pattern.
public struct RegularExpression: Sendable {
  /// How many instructions a program may have. Matching takes at most so many steps a character.
  public static let largestProgram = 5_000

  enum Instruction: Sendable {
    /// Takes one character that the class at this index holds.
    case take(Int)
    case split(Int, Int)
    case jump(Int)
    /// Goes on only where this holds.
    case require(Assertion)
    case match
  }

  enum Assertion: Sendable {
    case textStart, textEnd, textEndOrFinalNewline, lineStart, lineEnd, wordBorder, noWordBorder
  }

  let program: [Instruction]
  let classes: [CharacterClass]

  /// Compiles `pattern`. Of `options`, `c` overlooks case character by character; `d` has to be
  /// applied to pattern and text before.
  public init(_ pattern: String, _ options: StringOptions = []) throws(PatternError) {
    var parser = PatternParser(pattern, ignoresCase: options.contains(.caseInsensitive))
    var compiler = PatternCompiler()
    try compiler.compile(try parser.parse())
    program = compiler.program + [.match]
    classes = compiler.classes
  }
}

/// Why a pattern cannot be read.
public struct PatternError: Error, Sendable, Hashable {
  /// The character of the pattern at which it went wrong, from 0.
  public let position: Int
  /// What is wrong, as a phrase.
  public let reason: String
}

/// A pattern's syntax tree → its program.
struct PatternCompiler {
  private(set) var program: [RegularExpression.Instruction] = []
  private(set) var classes: [CharacterClass] = []
  private var steps = 0

  mutating func compile(_ node: PatternNode) throws(PatternError) {
    steps += 1
    guard program.count < RegularExpression.largestProgram, steps < 20_000 else {
      throw PatternError(position: 0, reason: "a pattern that is too large")
    }
    switch node {
    case .sequence(let nodes): for node in nodes { try compile(node) }
    case .character(let characterClass):
      program.append(.take(classes.count))
      classes.append(characterClass)
    case .assertion(let assertion): program.append(.require(assertion))
    case .alternatives(let nodes): try compile(alternatives: nodes)
    case .repetition(let node, let least, let most): try compile(node, least, most)
    }
  }

  private mutating func compile(alternatives nodes: [PatternNode]) throws(PatternError) {
    var exits: [Int] = []
    for (index, node) in nodes.enumerated() {
      guard index < nodes.count - 1 else {
        try compile(node)
        break
      }
      let fork = program.count
      program.append(.match)
      try compile(node)
      exits.append(program.count)
      program.append(.match)
      program[fork] = .split(fork + 1, program.count)
    }
    for exit in exits { program[exit] = .jump(program.count) }
  }

  private mutating func compile(
    _ node: PatternNode, _ least: Int, _ most: Int?
  ) throws(PatternError) {
    for _ in 0..<least { try compile(node) }
    guard let most else {
      let fork = program.count
      program.append(.match)
      try compile(node)
      program.append(.jump(fork))
      program[fork] = .split(fork + 1, program.count)
      return
    }
    var forks: [Int] = []
    for _ in least..<max(least, most) {
      forks.append(program.count)
      program.append(.match)
      try compile(node)
    }
    for fork in forks { program[fork] = .split(fork + 1, program.count) }
  }
}
