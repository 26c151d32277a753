// Which characters one place of a pattern takes.

/// A set of scalars: ranges and properties, perhaps all others, perhaps in either case.
struct CharacterClass: Sendable {
  enum Property: Sendable {
    case digit, word, space, horizontalSpace
    case category(String)
    case lineEnd

    func holds(_ scalar: Unicode.Scalar) -> Bool {
      let properties = scalar.properties
      switch self {
      case .digit: return properties.generalCategory == .decimalNumber
      case .word: return isWord(scalar)
      case .space: return properties.isWhitespace
      case .horizontalSpace:
        return scalar == "\t" || properties.generalCategory == .spaceSeparator
      case .lineEnd: return CharacterClass.isLineEnd(scalar)
      case .category(let name): return properties.generalCategory.abbreviation.hasPrefix(name)
      }
    }

    private func isWord(_ scalar: Unicode.Scalar) -> Bool {
      if scalar.isASCII {
        return scalar == "_" || scalar.properties.isAlphabetic || (48...57).contains(scalar.value)
      }
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .decimalNumber, .connectorPunctuation: return true
      default: return scalar.properties.isAlphabetic
      }
    }
  }

  struct Part: Sendable {
    let property: Property
    let isNegated: Bool
  }

  var ranges: [ClosedRange<UInt32>] = []
  var parts: [Part] = []
  var isNegated = false
  var ignoresCase = false
  /// Which of the first 128 characters are in it, so that most are found by one look.
  private var ascii: (low: UInt64, high: UInt64) = (0, 0)

  init(
    ranges: [ClosedRange<UInt32>] = [], parts: [Part] = [], isNegated: Bool = false,
    ignoresCase: Bool = false
  ) {
    self.ranges = ranges
    self.parts = parts
    self.isNegated = isNegated
    self.ignoresCase = ignoresCase
    for code in UInt8(0)..<128 where holds(Unicode.Scalar(code)) {
      if code < 64 { ascii.low |= 1 << UInt64(code) } else { ascii.high |= 1 << UInt64(code - 64) }
    }
  }

  init(_ scalar: Unicode.Scalar, ignoresCase: Bool) {
    self.init(ranges: [scalar.value...scalar.value], ignoresCase: ignoresCase)
  }

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      let code = UInt64(scalar.value)
      return (code < 64 ? ascii.low >> code : ascii.high >> (code - 64)) & 1 == 1
    }
    return holds(scalar)
  }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    var isIn = isListed(scalar)
    if ignoresCase, !isIn { isIn = Self.variants(scalar).contains(where: isListed) }
    return isIn != isNegated
  }

  private func isListed(_ scalar: Unicode.Scalar) -> Bool {
    ranges.contains { $0.contains(scalar.value) }
      || parts.contains { $0.property.holds(scalar) != $0.isNegated }
  }

  /// The other cases of a character, as far as they are one character.
  private static func variants(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    let properties = scalar.properties
    let upper = properties.uppercaseMapping.unicodeScalars
    let lower = properties.lowercaseMapping.unicodeScalars
    var variants: [Unicode.Scalar] = []
    for mapping in [upper, lower] where mapping.count == 1 { variants += Array(mapping) }
    // Through the upper case: the long s and s, the final sigma and sigma.
    if let first = upper.first, upper.count == 1 {
      let folded = first.properties.lowercaseMapping.unicodeScalars
      if folded.count == 1 { variants += Array(folded) }
    }
    switch lower.first {
    case "s": variants.append("\u{17F}")
    case "k": variants.append("\u{212A}")
    case "\u{3C3}": variants.append("\u{3C2}")
    default: break
    }
    return variants
  }

  static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }
}

extension Unicode.GeneralCategory {
  /// The category's two letters: `Lu`.
  var abbreviation: String {
    switch self {
    case .uppercaseLetter: "Lu"
    case .lowercaseLetter: "Ll"
    case .titlecaseLetter: "Lt"
    case .modifierLetter: "Lm"
    case .otherLetter: "Lo"
    case .nonspacingMark: "Mn"
    case .spacingMark: "Mc"
    case .enclosingMark: "Me"
    case .decimalNumber: "Nd"
    case .letterNumber: "Nl"
    case .otherNumber: "No"
    case .connectorPunctuation: "Pc"
    case .dashPunctuation: "Pd"
    case .openPunctuation: "Ps"
    case .closePunctuation: "Pe"
    case .initialPunctuation: "Pi"
    case .finalPunctuation: "Pf"
    case .otherPunctuation: "Po"
    case .mathSymbol: "Sm"
    case .currencySymbol: "Sc"
    case .modifierSymbol: "Sk"
    case .otherSymbol: "So"
    case .spaceSeparator: "Zs"
    case .lineSeparator: "Zl"
    case .paragraphSeparator: "Zp"
    case .control: "Cc"
    case .format: "Cf"
    case .surrogate: "Cs"
    case .privateUse: "Co"
    case .unassigned: "Cn"
    @unknown default: "Cn"
    }
  }
}
