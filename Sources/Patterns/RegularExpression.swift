// MATCHES: a regular expression over a whole text, in linear time for every pattern.
//
// The pattern is compiled to a program whose possible states are simulated at the same time
// (Thompson), so there is no backtracking. Syntax and meaning are ICU's, as for NSPredicate:
//
//     a . [a-z] [^…] [a-z&&[^aeiou]] [[a-z]--[x]] [[:alpha:]]   x* x+ x? x{2} x{2,} x{2,5}, also lazy
//     \d \w \s \h \v \p{L} \p{Script=Greek} and their opposites  \R \X
//     (x) (?:x) (?<name>x) x|y (?ismdx) (?x-i:y) (?#…)           ^ $ \A \z \Z \b \B \G
//     \t \n \r \f \a \e \cA \012 \x41 \x{1F600} \u0041 \U0001F600 \N{EURO SIGN} \Q…\E
//     \ before any sign that is not a letter
//
// A possessive quantifier is exact after an element that takes one character (`\d++`), and an
// atomic group is exact if only such a quantifier at its end has a choice. Other possessive
// quantifiers and atomic groups need backtracking and are refused, as are back references,
// lookaround, and patterns whose program exceeds ``largestProgram``.

/// A compiled pattern.
public struct RegularExpression: Sendable {
  /// The maximum number of instructions of a program. Matching takes at most a constant number of steps per
  /// instruction and character.
  public static let largestProgram = 5_000

  enum Instruction: Sendable {
    /// Takes a character of the set with this index.
    case take(Int)
    /// Takes a character that folds to this letter, and, if it folds to several, to those of the
    /// following instructions. `left` is the number of letters to the end of their run.
    case fold(Unicode.Scalar, left: Int)
    case split(Int, Int)
    case jump(Int)
    /// Continues only if this holds.
    case require(Assertion)
    case match
  }

  enum Assertion: Sendable {
    case textStart, textEnd, textEndOrFinalNewline, textEndOrFinalLineEnd
    case lineStart, lineEnd, unixLineStart, unixLineEnd
    case wordBoundary, noWordBoundary, clusterBoundary, noClusterBoundary
    case notBefore(ScalarSet)
  }

  let program: [Instruction]
  let sets: [ScalarSet]
  /// The properties of text positions that the program examines.
  let needs: Needs

  /// Compiles `pattern`.
  ///
  /// - Parameter ignoresCase: ignores case as ICU does: adjacent letters are compared by full
  ///   folding (`ss` matches ß), a set contains its letters' other cases.
  /// - Throws: ``PatternError`` for an invalid pattern, or one that needs backtracking.
  public init(_ pattern: String, ignoresCase: Bool = false) throws(PatternError) {
    var parser = PatternParser(pattern, ignoresCase: ignoresCase)
    try self.init(try parser.parse())
  }

  init(_ node: PatternNode) throws(PatternError) {
    var compiler = PatternCompiler()
    try compiler.compile(node)
    program = compiler.program + [.match]
    sets = compiler.sets
    needs = Needs(program)
  }
}

/// The reason why a pattern is invalid.
public struct PatternError: Error, Sendable, Hashable {
  /// The index of the character at which the error begins.
  public let position: Int
  /// The reason, as a phrase.
  public let reason: String
}

extension RegularExpression {
  /// Properties of text positions.
  struct Needs: OptionSet {
    let rawValue: UInt8
    static let words = Needs(rawValue: 1)
    static let clusters = Needs(rawValue: 2)
    static let folding = Needs(rawValue: 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ program: [Instruction]) {
      self = []
      for instruction in program {
        switch instruction {
        case .fold: insert(.folding)
        case .require(.wordBoundary), .require(.noWordBoundary): insert(.words)
        case .require(.clusterBoundary), .require(.noClusterBoundary): insert(.clusters)
        default: break
        }
      }
    }
  }
}
