// MATCHES: a regular expression over a whole text, in time linear in the text whatever the pattern.
//
// The pattern becomes a program that is run for all its possible states at once (Thompson), so
// nothing is ever tried twice. The language and its meaning are ICU's, as NSPredicate's is:
//
//     a . [a-z] [^…] [a-z&&[^aeiou]] [[a-z]--[x]] [[:alpha:]]   x* x+ x? x{2} x{2,} x{2,5}, also lazy
//     \d \w \s \h \v \p{L} \p{Script=Greek} and their opposites  \R \X
//     (x) (?:x) (?<name>x) x|y (?ismdx) (?x-i:y) (?#…)           ^ $ \A \z \Z \b \B \G
//     \t \n \r \f \a \e \cA \012 \x41 \x{1F600} \u0041 \U0001F600 \N{EURO SIGN} \Q…\E
//     \ before any sign that is no letter
//
// A possessive quantifier is exact where it stands behind what takes one character (`\d++`), and an
// atomic group where nothing but such a quantifier at its end leaves a choice. Beyond that they ask
// what was tried before, and are refused like back references and lookaround; so are patterns whose
// program would be larger than ``largestProgram``.

/// A compiled pattern.
public struct RegularExpression: Sendable {
  /// How many instructions a program may have. Matching takes at most some steps of each a character.
  public static let largestProgram = 5_000

  enum Instruction: Sendable {
    /// Takes one character of the set at this index.
    case take(Int)
    /// Takes a character that folds to this letter and, as far as it folds to more than one, to those
    /// of the instructions behind it. `left` are the letters from here to the end of their run.
    case fold(Unicode.Scalar, left: Int)
    case split(Int, Int)
    case jump(Int)
    /// Goes on only where this holds.
    case require(Assertion)
    case match
  }

  enum Assertion: Sendable {
    case textStart, textEnd, textEndOrFinalNewline, textEndOrFinalLineEnd
    case lineStart, lineEnd, unixLineStart, unixLineEnd
    case wordBorder, noWordBorder, clusterBorder, noClusterBorder
    case notBefore(ScalarSet)
  }

  let program: [Instruction]
  let sets: [ScalarSet]
  /// What has to be known of a place of the text.
  let needs: Needs

  /// Compiles `pattern`.
  ///
  /// - Parameter options: `c` overlooks case as ICU does: letters side by side are compared fully
  ///   folded (`ss` matches ß), a set holds a letter's other cases. `d` has to be applied to pattern
  ///   and text before.
  public init(_ pattern: String, _ options: StringOptions = []) throws(PatternError) {
    var parser = PatternParser(pattern, ignoresCase: options.contains(.caseInsensitive))
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

/// Why a pattern cannot be read.
public struct PatternError: Error, Sendable, Hashable {
  /// The character of the pattern at which what is wrong begins, from 0.
  public let position: Int
  /// What is wrong, as a phrase.
  public let reason: String
}

extension RegularExpression {
  /// What a program asks about places.
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
        case .require(.wordBorder), .require(.noWordBorder): insert(.words)
        case .require(.clusterBorder), .require(.noClusterBorder): insert(.clusters)
        default: break
        }
      }
    }
  }
}
