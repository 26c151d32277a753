// Character sets by Unicode property and characters by name: `\p{Script=Greek}`, `\w`, `\N{EURO
// SIGN}`. Foundation's ICU evaluates each property once over all characters, which takes some
// milliseconds; the sets are cached.

import Bytes
import Foundation
import Synchronization

extension ScalarSet {
  /// ICU's `\w`.
  static let word = ScalarSet(
    [named("Alphabetic"), named("M"), named("Nd"), named("Pc")].flatMap { $0?.spans ?? [] }
      + [0x200C...0x200D])
  /// `\d`.
  static let digits = named("Nd") ?? ScalarSet()
  /// `\s`.
  static let space = named("White_Space") ?? ScalarSet()
  /// `\h`.
  static let horizontalSpace = ScalarSet([0x09...0x09] + (named("Zs")?.spans ?? []))
  /// `\v`, and what `.` does not take.
  static let lineEnds = ScalarSet([0x0A...0x0D, 0x85...0x85, 0x2028...0x2029])

  // The complements, shared by all patterns: each has hundreds of spans.
  static let noWord = word.complement
  static let noDigit = digits.complement
  static let noSpace = space.complement
  static let noHorizontalSpace = horizontalSpace.complement
  static let noLineEnd = lineEnds.complement

  /// Property names allowed in `\p{name=value}`. The closed list bounds the number of cached sets.
  private static let families: Set<String> = [
    "gc", "generalcategory", "sc", "script", "scx", "scriptextensions", "blk", "block",
  ]

  private static let known = Mutex<[String: ScalarSet]>([:])

  /// The characters of ICU's `\p{name}`: a general category, a script, a block (`InGreek`) or a
  /// binary property. nil for an unknown name.
  static func named(_ name: String) -> ScalarSet? {
    guard let key = key(for: name) else { return nil }
    if let set = known.withLock({ $0[key] }) { return set }
    guard let expression = try? NSRegularExpression(pattern: "\\p{\(name)}+") else { return nil }
    let set = ScalarSet(AllScalars.spans(of: expression))
    known.withLock { $0[key] = set }
    return set
  }

  /// The name in ICU's normal form; nil if it cannot be one.
  private static func key(for name: String) -> String? {
    guard name.utf8.count <= 64, name.utf8.allSatisfy({ isNameByte($0) }) else { return nil }
    let key = name.lowercased().filter { !" _-".contains($0) }
    guard let sign = key.firstIndex(of: "=") else { return key.isEmpty ? nil : key }
    return families.contains(String(key[..<sign])) ? key : nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    isWordByte(byte) && byte < 0x80 || " -=".utf8.contains(byte)
  }
}

extension Unicode.Scalar {
  /// The character with this Unicode name, ignoring case.
  static func named(_ name: String) -> Unicode.Scalar? {
    let isName = name.utf8.allSatisfy { isWordByte($0) || " -".utf8.contains($0) }
    guard isName, name.utf8.count <= 100, name.utf8.count > 0,
      let text = "\\N{\(name.uppercased())}".applyingTransform(
        StringTransform("Name-Any"), reverse: false)
    else { return nil }
    let scalars = text.unicodeScalars
    return scalars.count == 1 ? scalars.first : nil
  }
}

/// A text with every character once, for searching by regular expression.
private enum AllScalars {
  private struct Area {
    let span: ScalarSet.Span
    /// The UTF-16 offset of its first character.
    let start: Int
    /// UTF-16 units per character; 0 if one character represents the whole span.
    let width: Int
    var end: Int { start + (width == 0 ? 2 : width * span.count) }
  }

  /// Planes 3 to 16 are nearly empty: one unassigned or private character represents each span.
  private static let layout: [(span: ScalarSet.Span, isWhole: Bool)] = [
    (0...0xD7FF, true), (0xE000...0xFFFF, true), (0x10000...0x3347F, true),
    (0x33480...0xDFFFF, false), (0xE0000...0xE0FFF, true), (0xE1000...0xEFFFF, false),
    (0xF0000...0xFFFFD, false), (0xFFFFE...0xFFFFF, false), (0x100000...0x10FFFD, false),
    (0x10FFFE...0x10FFFF, false),
  ]

  private static let (text, areas): (String, [Area]) = {
    var units: [UInt16] = []
    var areas: [Area] = []
    for (span, isWhole) in layout {
      let width = isWhole ? (span.lowerBound < 0x10000 ? 1 : 2) : 0
      areas.append(Area(span: span, start: units.count, width: width))
      for code in span.lowerBound...(isWhole ? span.upperBound : span.lowerBound) {
        if let scalar = Unicode.Scalar(code) { units += Array(String(scalar).utf16) }
      }
    }
    return (String(decoding: units, as: UTF16.self), areas)
  }()

  /// The characters in the matches of `expression`.
  static func spans(of expression: NSRegularExpression) -> [ScalarSet.Span] {
    var spans: [ScalarSet.Span] = []
    let whole = NSRange(location: 0, length: areas.last?.end ?? 0)
    expression.enumerateMatches(in: text, range: whole) { match, _, _ in
      guard let range = match?.range else { return }
      for area in areas { spans += Self.span(of: range, in: area) }
    }
    return spans
  }

  private static func span(of range: NSRange, in area: Area) -> [ScalarSet.Span] {
    let (first, end) = (max(range.lowerBound, area.start), min(range.upperBound, area.end))
    guard first < end else { return [] }
    if area.width == 0 { return [area.span] }
    let low = area.span.lowerBound + UInt32((first - area.start) / area.width)
    let high = area.span.lowerBound + UInt32((end - 1 - area.start) / area.width)
    return [low...high]
  }
}

/// True for an ASCII letter or digit, `_`, and a byte of another character.
private func isWordByte(_ byte: UInt8) -> Bool {
  ASCII.isLowercase(byte | 0x20) || ASCII.isDigit(byte)
    || byte == UInt8(ascii: "_") || byte >= 0x80
}
