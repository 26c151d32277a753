// One term of the `sort` parameter.

import FetchModel

/// A key path to sort by, with direction and options.
public struct SortTerm: Sendable, Hashable {
  /// A key path from the fetched entity, such as `country.name`.
  public var keyPath: String
  /// Ascending or descending.
  public var direction: Direction
  /// Whether case and diacritics are ignored; for text only.
  public var options: StringOptions
  /// The position of nil; by default first ascending and last descending.
  public var nils: NilPlace?
  /// The part of a value that forms a section. Parts other than `.value` are allowed only in the section
  /// of a results controller, and without ``options``.
  public var sectionPart = SectionPart.value

  /// The parts of values that form sections.
  public typealias SectionPart = OrderTerm.Derivation

  /// Makes a term of a key path such as `"country.name"`.
  ///
  /// - Parameters:
  ///   - keyPath: from the fetched entity.
  ///   - direction: ascending or descending.
  ///   - options: for text only: the differences to ignore.
  ///   - nils: the position of nil; nil means first ascending and last descending.
  public init(
    _ keyPath: String, _ direction: Direction = .ascending, options: StringOptions = [],
    nils: NilPlace? = nil
  ) {
    self.keyPath = keyPath
    self.direction = direction
    self.options = options
    self.nils = nils
  }

  /// Ascending by a property.
  public static func ascending(_ key: some KeyCodable, options: StringOptions = []) -> SortTerm {
    SortTerm(key.rawValue, .ascending, options: options)
  }

  /// Descending by a property.
  public static func descending(_ key: some KeyCodable, options: StringOptions = []) -> SortTerm {
    SortTerm(key.rawValue, .descending, options: options)
  }

  /// Ascending by a key path such as `"country.name"`.
  public static func ascending(_ keyPath: String, options: StringOptions = []) -> SortTerm {
    SortTerm(keyPath, .ascending, options: options)
  }

  /// Descending by a key path.
  public static func descending(_ keyPath: String, options: StringOptions = []) -> SortTerm {
    SortTerm(keyPath, .descending, options: options)
  }

  /// Sections by a part of a value: `.grouped(by: .initial, of: "name")`.
  public static func grouped(
    by part: SectionPart, of keyPath: String, _ direction: Direction = .ascending
  ) -> SortTerm {
    var term = SortTerm(keyPath, direction)
    term.sectionPart = part
    return term
  }

  /// The term as the `sort` parameter: `-country.name:cd:nullsfirst`.
  public var text: String {
    var text = (direction == .descending ? "-" : "") + keyPath
    let letters = options.sortLetters
    if !letters.isEmpty { text += ":" + letters }
    if sectionPart != .value { text += ":" + sectionPart.rawValue }
    switch nils {
    case .first: text += ":nullsfirst"
    case .last: text += ":nullslast"
    case nil: break
    }
    return text
  }
}

extension StringOptions {
  /// The option letters of a sort term for these options.
  fileprivate var sortLetters: String {
    (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
  }
}
