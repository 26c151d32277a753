// MATCHES compared with Foundation's regular expressions, construct by construct, and the
// constructs that are refused.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import Patterns

@Suite("The language of MATCHES")
struct PatternLanguageTests {
  private static let constructs: [String] = [
    // Sets within sets, and their operations
    "[a-z&&[^aeiou]]+", "[[a-c][x-z]]+", "[a-z--[aeiou]]+", "[[a-z]-[aeiou]]+", "[[a-z]&[aeiou]]+",
    "[a-z&&b-d]+", "[a-z&&b-dy]+", "[a&b]", "[a-]", "[-a]", "[&a]", "[]a]", "[^]a]", "[\\d-z]",
    "[a-z-9]", "[a-c-e]", "[a--b]", "[a&&a]", "[^a-z&&[aeiou]]+", "[a-z&&[aeiou]--[e]]+",
    "[abc--b&&[ac]]", "[\\p{L}-z]", "[[a-z]-z]+", "[\\p{L}-[ae]]+", "[\\p{L}&[ae]]+",
    "[^\\p{L}--\\d]", "[\\Qa]\\E]", "[x[^a]]", "[^[^a]]", "[[:alpha:]]+", "[[:^alpha:]]+",
    "[:digit:]+", "[[:punct:]x]", "[a[:]b]", "[\\h\\v]", "[\\w&&[^\\d]]+", "[\\x41-\\x{5A}]+",
    "[\\N{LATIN SMALL LETTER A}-c]+", "[\\u0041\\cA\\0101]", "[\\]\\[\\-]", "[a-z&&[^k]]", "[^k]",
    // Properties
    "\\p{Alphabetic}+", "\\P{Alphabetic}+", "\\p{IsLatin}+", "\\p{Script=Latin}+", "\\p{sc=Grek}+",
    "\\p{Greek}+", "\\p{InGreek}+", "\\p{scx=Deva}", "\\p{Lu}", "\\P{Lu}", "\\p{ L u }",
    "\\p{IsLu}",
    "\\p{gc=Lu}", "\\p{Uppercase_Letter}", "\\p{LC}", "\\p{Any}", "\\p{ASCII}+", "\\p{Emoji}",
    "\\p{alpha}+", "\\p{punct}", "\\p{White_Space}+", "\\p{Uppercase}", "\\p{javaLowerCase}",
    "\\p{Han}+", "\\p{M}", "\\p{Mn}", "\\p{Cn}", "\\p{Co}", "\\p{Nd}+", "\\p{Sc}", "\\p{Zs}",
    "\\p{ID_Start}+", "\\p{Hex_Digit}+", "[^\\p{Lu}]", "[\\p{Lu}]", "[[:upper:]]", "[[:lower:]]+",
    // Short sets and units
    "\\d", "\\D", "\\w", "\\W", "\\w+", "\\s", "\\S", "\\h", "\\H", "\\v", "\\V", "\\R", "\\R\\n",
    "\\R\\R", "\\R+", "\\X", "\\X\\X", "e\\X", "\\X.", "\\X+", ".", "..", "(?s).", "(?s)..",
    "(?s).\\n", "(?s).+", "(?d).", "(?d)a$\\r", "(?md)a$.^b",
    // Places
    "a$", "a$\\n", "a$\\r\\n", "a$\\r", "a$\\x{2028}", "a$\\n\\n", "a\\Z\\n", "a\\z", "\\Aa",
    "\\Ga",
    "(?m)a$\\n^b", "(?m)a$\\r\\n^b", "(?m)a\\r$\\n^b", "(?m)a\\r^\\nb", "(?m)a\\v^b", "(?m)a\\n^",
    "\\ba\\b", "\\b.+\\b", "e\\b\u{301}x", "e\\B\u{301}x", "\\w+\\b\\W\\b\\w+", "\\B\u{301}a",
    "!\u{301}\\ba", "a\u{200D}\\b!", "\\B", "\\b",
    // Characters
    "\\x41", "\\x4", "\\x{41}", "\\u0041", "\\U00000041", "\\uD83D\\uDE00", "\\0101", "\\012",
    "\\cA",
    "\\ca", "\\e", "\\a", "\\t", "\\f", "\\N{LATIN SMALL LETTER A}", "\\N{latin small letter a}",
    "\\N{CJK UNIFIED IDEOGRAPH-4E00}", "\\N{HANGUL SYLLABLE GA}", "\\_", "\\-", "\\é", "\\<", "]",
    "\\Qa.b\\E", "\\Qab\\E*", "\\Q\\E", "\\Qa\\b\\E", "\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\",
    // Groups and flags
    "(?i)AB", "(?i)a(?-i)B", "(?i:a)b", "((?i)a)b", "(?x)a\\ b", "(?x)[a b]", "(?x)a #c\nb",
    "(?x)a *",
    "(?x) a{1,\n2}", "(?x-i: a b )c", "(?#c)a", "(?<n>a)b", "(?<n1>a)b", "(|a)", "a|b|", "(?:)*",
    "x{0}",
    "(?u)a", "\\d{2,3}?", "a*?", "(?:ab){1,2}?c", "((a|b)*)*c",
    // Without backtracking
    "a++b", "a*+a", "a?+a", "a?+b", "[ab]{1,2}+b", "[ab]{2}+b", "[ab]{1,}+", "\\d++", "\\X++",
    "\\R++\\n",
    "(?s).*+", "(?s).*+a", ".*+\\n?", "(?:a)*+b", "(a)++", "[^b]*+b", "(?>a)b", "(?>a+)b",
    "(?>a+)a",
    "(?>ba*)a", "(?>a*?)b", "(?>[ab]|b)c", "(?>a{1,2})ab", "(?>(?>a+)b)",
    // Full case folding where the case is overlooked
    "ß", "ss", "s+", "[ß]", "ẞ", "straße", "(s)(s)", "ﬁn", "f(in)", "İ", "i\u{307}", "ı", "i", "k",
    "[k]",
    "s", "σ", "ς", "ß?", "ß*", "ss*", "Ω", "\\x{DF}", "ŉ", "ᾳ", "\\QSS\\E", "s\\Qs\\E", "s(?:)s",
    "s(?#x)s", "\u{390}", "ßa", "aß+", "ǅ", "µ", "\u{345}", "ſt", "ﬅ", "ﬆ", "ꭰ", "Ꭰ", "ა", "Ა",
    "[ﬁ]",
    "[ﬀ-ﬆ]", "[^ß]", "s{2}", "k++", "ß+s", "(?-i)ss", "s(?-i)S",
  ]

  private static let texts: [String] = [
    "", "a", "b", "e", "k", "K", "\u{212A}", "x", "y", "z", "A", "B", "ab", "aB", "Ab", "AB", "abb",
    "aab", "aaa", "aaab", "ba", "baa", "bc", "abc", "ababc", "bcd", "xyz", "aei", "é", "É",
    "e\u{301}", "e\u{301}x", "\u{301}a", "!\u{301}a", "a\u{200D}!", "a.b", "a b", "a  b", "a-b",
    "-", "&", "]", "[",
    "1", "12", "123", "٣", "²", "Ⅷ", "_", ".", "!", "<", " ", "\u{A0}", "\u{1680}", "\u{180E}",
    "\u{85}", "\u{1C}", "\u{B}", "\t", "\n", "\r", "\r\n", "\n\n", "\r\n\n", "\n\r", "a\n", "a\r\n",
    "a\r", "a\u{2028}", "a\n\n", "a\nb", "a\r\nb", "a\u{B}b", "a\u{200D}", "\u{200D}", "\u{20DD}",
    "\u{903}", "α", "Ω", "ΩΩ", "\u{2126}", "σ", "Σ", "ς", "σς", "名", "一", "가", "😀", "🇩🇪", "🇩🇪🇫🇷",
    "👨‍👩‍👧", "€", "\u{964}", "\u{E000}", "\u{378}", "\u{10FFFF}", "\u{E0100}", "\u{1}", "\u{7}",
    "\u{1B}", "\u{C}",
    "ß", "ẞ", "ss", "SS", "sS", "s", "S", "ſ", "ſſ", "ßs", "sß", "ßß", "ssSS", "ssa", "SSA", "ass",
    "aß",
    "aßß", "strasse", "STRASSE", "STRAẞE", "fin", "FIN", "ﬁn", "f", "ﬁ", "ﬀ", "ff", "İ", "i\u{307}",
    "I\u{307}", "I",
    "i", "ı", "ŉ", "ʼN", "ᾳ", "ΑΙ", "αι", "ᾼ", "\u{390}", "\u{3B9}\u{308}\u{301}", "\u{1FD3}", "Ǆ",
    "ǅ", "ǆ",
    "µ", "μ", "Μ", "\u{345}", "ι", "st", "ST", "ﬅ", "ﬆ", "Ꭰ", "ꭰ", "ა", "Ა", "xa", "a]", "a\\b",
    ".*+?()[]{}|^$\\", "añb",
  ]

  @Test(
    "means what Foundation's regular expressions mean, with and without [c]", arguments: constructs)
  func parity(pattern: String) throws {
    for options in [StringOptions(), .caseInsensitive] {
      let flags: NSRegularExpression.Options = options.isEmpty ? [] : .caseInsensitive
      let reference = try NSRegularExpression(pattern: "\\A(?:\(pattern))\\z", options: flags)
      let expression = try RegularExpression(
        pattern, ignoresCase: options.contains(.caseInsensitive))
      var differing: [String] = []
      for text in Self.texts {
        let whole = NSRange(location: 0, length: text.utf16.count)
        let expected = reference.firstMatch(in: text, range: whole) != nil
        if expression.isWhole(text) != expected {
          differing.append("\(text.debugDescription) is \(expected)")
        }
      }
      #expect(differing.isEmpty, "\(pattern) \(options.isEmpty ? "" : "[c]"): \(differing)")
    }
  }

  @Test("every letter with another case matches what Foundation's does")
  func everyLetter() throws {
    var differing: [String] = []
    // Letters of a Unicode version that Foundation does not know yet.
    let unknown = try #require(ScalarSet.named("Cn"))
    for code in UInt32(0x41)..<0x1F000 {
      guard let scalar = Unicode.Scalar(code), scalar.properties.changesWhenCaseMapped,
        !unknown.contains(scalar)
      else { continue }
      let text = String(scalar)
      let expression = try RegularExpression(text, ignoresCase: true)
      let reference = try NSRegularExpression(
        pattern: "\\A(?:\(text))\\z", options: .caseInsensitive)
      for other in [text.uppercased(), text.lowercased(), text.uppercased().lowercased()] {
        let whole = NSRange(location: 0, length: other.utf16.count)
        let expected = reference.firstMatch(in: other, range: whole) != nil
        let isKnown = !other.unicodeScalars.contains(where: unknown.contains)
        if isKnown, expression.isWhole(other) != expected {
          differing.append("\(String(code, radix: 16)) \(text) \(other) is \(expected)")
        }
      }
    }
    #expect(differing.count < 1, "\(differing)")
  }

  @Test(
    "refusals name the construct and where it begins",
    arguments: [
      ("ab(", 2, "`(` without `)`"), ("a)b", 1, "`)` without `(`"), ("a[bc", 1, "`[` without `]`"),
      ("*a", 0, "`*` with nothing to repeat"), ("a**", 2, "`*` with nothing to repeat"),
      ("a|+", 2, "`+` with nothing to repeat"), ("a{2}{3}", 4, "`{` with nothing to repeat"),
      ("a{", 1, "no number after `{`, which is `\\{` as a character"),
      ("ab{2", 2, "no `}` after a count"), ("ab{2,x}", 2, "no `}` after a count"),
      ("a{3,2}", 1, "counts that are not 0 to 1,000, or the first above the second"),
      ("ab\\", 2, "`\\` with nothing after it"), ("ab\\y", 2, "an unknown escape `\\y`"),
      ("a\\p{Foo}b", 1, "an unknown property `Foo`"), ("a\\p{Lu", 1, "no `}` after a property"),
      ("x[z-a]", 2, "a range that runs backwards"), ("[a-\\d]", 1, "a range that ends in a set"),
      ("[a&&]", 4, "a set's operator with nothing beside it"),
      ("x[[:foo:]]", 2, "an unknown property `foo`"), ("\\x{110000}", 0, "no character's code"),
      ("a\\uD800", 1, "no character's code"), ("\\0z", 0, "`\\0` without octal digits"),
      ("a\\N{NO SUCH}", 1, "no character is called `NO SUCH`"), ("a\\Qb", 1, "`\\Q` without `\\E`"),
      ("a(?y)b", 3, "an unknown flag `y`"), ("a(?w)", 3, "an unknown flag `w`"),
      ("(?<1>a)", 0, "a group's name that is not ASCII letters and digits"),
      ("a(?#b", 1, "a comment that does not end"),
      ("a(?=b)", 1, "a lookahead, which a linear engine does not have"),
      ("a(?!b)", 1, "a lookahead, which a linear engine does not have"),
      ("a(?<=b)", 1, "a lookbehind, which a linear engine does not have"),
      ("a(?<!b)", 1, "a lookbehind, which a linear engine does not have"),
      ("(a)\\1", 3, "a back reference, which needs backtracking"),
      ("(?<n>a)\\k<n>", 7, "a back reference, which needs backtracking"),
      (
        "x(ab)*+", 5,
        "a possessive quantifier after more than one character, which needs backtracking"
      ),
      ("x(?>a|ab)", 1, "an atomic group with a choice inside, which needs backtracking"),
    ])
  func refusals(pattern: String, position: Int, reason: String) {
    #expect(throws: PatternError(position: position, reason: reason)) {
      try RegularExpression(pattern)
    }
  }

  @Test("a pattern has limits on named properties and on nesting")
  func limits() throws {
    _ = try RegularExpression(String(repeating: "\\p{L}", count: 50))
    #expect(throws: PatternError.self) {
      try RegularExpression(String(repeating: "\\p{L}", count: 51))
    }
    for (open, close) in [("(", ")"), ("[", "]"), ("(?>", ")"), ("[a-z&&", "]")] {
      let deep =
        String(repeating: open, count: 20_000) + "a" + String(repeating: close, count: 20_000)
      #expect(throws: PatternError.self) { try RegularExpression(deep) }
    }
  }

  @Test("a set of thousands of sets takes the time of its characters")
  func longSets() throws {
    let word = try RegularExpression("[" + String(repeating: "\\w", count: 1_000) + "]")
    #expect(["a", "é", "-"].map { word.isWhole($0) } == [true, true, false])
    let other = try RegularExpression("[" + String(repeating: "[\\w]", count: 20) + "-[a]]")
    #expect(["b", "a"].map { other.isWhole($0) } == [true, false])
    let letters = String(repeating: "[a][b]", count: 10_000)
    let small = try RegularExpression("[\(letters)-[b]K]", ignoresCase: true)
    #expect(["A", "\u{212A}", "b"].map { small.isWhole($0) } == [true, true, false])
  }

  @Test(
    "a pattern with large sets is refused once they have a million ranges together",
    arguments: [
      ("[", "\\w", 30_000, "]"), ("[", "[\\w]", 15_000, "]"), ("", "[\\w]", 4_900, ""),
      ("[\\p{L}", "-[a]", 15_000, "]"), ("[\\w", "--a", 20_000, "]"),
    ])
  func largeSets(start: String, part: String, count: Int, end: String) {
    let pattern = start + String(repeating: part, count: count) + end
    let error = #expect(throws: PatternError.self) {
      try RegularExpression(pattern, ignoresCase: true)
    }
    #expect(error?.reason == "a pattern that is too large")
  }

  // MARK: Time

  @Test("the number of steps is linear in the text for every pattern")
  func linearSteps() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = HardPatterns(seed: seed)
    var measured = 0
    for _ in 0..<40 {
      let pattern = generator.pattern(depth: 3)
      for options in [StringOptions(), .caseInsensitive] {
        guard
          let expression = try? RegularExpression(
            pattern, ignoresCase: options.contains(.caseInsensitive))
        else { continue }
        let text = generator.text()
        let counts = [1_000, 2_000].map { length in
          expression.steps(String(repeating: text, count: length / text.unicodeScalars.count))
        }
        measured += 1
        let note: Comment = "seed \(seed): \(pattern) on \(text): \(counts)"
        #expect(counts[1] <= 3 * expression.program.count * 2_001, note)
        // Doubling the text doubles the steps, but for the first characters, where states gather.
        #expect(Double(counts[1]) <= 2.1 * Double(counts[0]) + 1_000, note)
      }
    }
    #expect(measured > 20, "seed \(seed)")
  }

  @Test(
    "patterns that are exponential in other engines take a few steps per character",
    arguments: [
      ("(a*)*b", 30), ("(a|aa)+b", 30), ("(.*a){20}b", 200), ("(a?){50}a{50}b", 400),
      ("(\\w+\\s?)*!", 30), ("((a{1,9}){1,9}){1,9}b", 4_000), ("(a|a|a|a)*b", 40),
      ("(?i)(ss|ß)+x", 40),
      ("([a-z&&[^k]]+)*\\d", 30), ("(a++|b)*c", 40),
    ])
  func few(pattern: String, most: Int) throws {
    let expression = try RegularExpression(pattern)
    var text = String(repeating: "a", count: 5_000)
    let (isMatch, steps) = text.withUTF8 { expression.run(over: $0) }
    #expect(!isMatch)
    #expect(steps <= most * 5_001, "\(steps / 5_001) a character")
  }
}

extension RegularExpression {
  fileprivate func isWhole(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { matches($0) }
  }

  fileprivate func steps(_ text: String) -> Int {
    var text = text
    return text.withUTF8 { run(over: $0).steps }
  }
}

/// Patterns of nested repetitions and overlapping choices.
private struct HardPatterns: SeededCaseGenerator {
  var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func pattern(depth: Int) -> String {
    guard depth > 0 else { return letter() }
    switch number(0...7) {
    case 0, 1: return "(\(pattern(depth: depth - 1)))\(quantifier())"
    case 2: return "(\(pattern(depth: depth - 1))|\(pattern(depth: depth - 1)))"
    case 3: return "(\(pattern(depth: depth - 1))|\(pattern(depth: depth - 1)))*"
    case 4: return "(.*\(pattern(depth: depth - 1))){1,\(number(2...6))}"
    case 5: return "\\b?\(pattern(depth: depth - 1))$?"
    default: return pattern(depth: depth - 1) + pattern(depth: depth - 1)
    }
  }

  private mutating func letter() -> String {
    ["a", "b", "ss", "ß", ".", "[ab]", "[a-z&&[^b]]", "\\w", "\\X", "\\R", "a?", "\\p{L}", "b*+"]
      .randomElement(using: &random) ?? "a"
  }

  private mutating func quantifier() -> String {
    ["*", "+", "?", "{0,4}", "{2,}", "*?", "{3}"].randomElement(using: &random) ?? "*"
  }

  mutating func text() -> String {
    ["a", "ab", "ß", "ssß", "e\u{301}", "a\r\n", "😀"].randomElement(using: &random) ?? "a"
  }
}
