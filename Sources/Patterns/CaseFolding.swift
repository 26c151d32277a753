// Unicode's full case folding of single characters, derived from the standard library's case
// mappings. A character folds to one to three characters.

package enum CaseFolding {
  /// The foldings of characters that do not fold to themselves.
  private static let folded: [Unicode.Scalar: [Unicode.Scalar]] = {
    var folded: [Unicode.Scalar: [Unicode.Scalar]] = [:]
    // No character above this code point has a case.
    for code in UInt32(0)..<0x1F000 {
      guard let scalar = Unicode.Scalar(code), scalar.properties.isCaseSensitive else { continue }
      let result = compute(scalar)
      if result != [scalar] { folded[scalar] = result }
    }
    return folded
  }()

  /// Groups of two or more characters with the same folding.
  static let groups: [[Unicode.Scalar]] = {
    var groups = Dictionary(grouping: folded.keys) { folded[$0] ?? [] }
    for (result, members) in groups where result.count == 1 {
      if !members.contains(result[0]) { groups[result] = members + result }
    }
    return groups.values.filter { $0.count > 1 }
  }()

  /// By code point, the index of its group.
  private static let groupIndexes: [UInt32: Int] = {
    var indexes: [UInt32: Int] = [:]
    for (index, group) in groups.enumerated() {
      for scalar in group { indexes[scalar.value] = index }
    }
    return indexes
  }()

  /// The group of a code point; nil if no other character has its folding.
  static func group(of code: UInt32) -> [Unicode.Scalar]? { groupIndexes[code].map { groups[$0] } }

  /// Characters that fold to several.
  struct Expansion: Sendable {
    let letters: [Unicode.Scalar]
    let scalars: [Unicode.Scalar]
  }

  /// The foldings of two or three characters, by their first one.
  static let expansions: [Unicode.Scalar: [Expansion]] = {
    let several = Dictionary(grouping: folded.filter { $0.value.count > 1 }, by: \.value)
    let all = several.map { Expansion(letters: $0.key, scalars: $0.value.map(\.key)) }
    return Dictionary(grouping: all) { $0.letters[0] }
  }()

  /// The characters that fold to several.
  package static var expanding: [Unicode.Scalar] {
    expansions.values.flatMap { $0.flatMap(\.scalars) }.sorted()
  }

  /// The folding of `scalar`: one to three characters.
  package static func fold(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    folded[scalar] ?? [scalar]
  }

  /// The folding of `scalar` if it is a single character, otherwise nil.
  package static func simpleFold(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    if scalar.isASCII {
      let code = UInt8(scalar.value)
      return code &- 0x41 < 26 ? Unicode.Scalar(code | 0x20) : scalar
    }
    guard let result = folded[scalar] else { return scalar }
    return result.count == 1 ? result[0] : nil
  }

  /// Lower case of upper case of lower case, so that ß, ẞ and SS fold alike.
  private static func compute(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
    // The upper case of dotless i is I, but they are different letters.
    if scalar == "\u{131}" { return [scalar] }
    return lower(upper(lower([scalar])))
  }

  private static func lower(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    scalars.flatMap { $0.properties.lowercaseMapping.unicodeScalars }
  }

  private static func upper(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] {
    scalars.flatMap { $0.properties.uppercaseMapping.unicodeScalars }
  }
}

extension Unicode.Scalar.Properties {
  fileprivate var isCaseSensitive: Bool { changesWhenCaseMapped || changesWhenCaseFolded }
}
