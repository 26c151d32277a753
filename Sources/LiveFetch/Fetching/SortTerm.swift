// One key of an order, as `sort` writes it.

/// A key path to sort by, its direction and its options.
public struct SortTerm: Sendable, Hashable {
  public var keyPath: String
  public var direction: Direction
  public var options: StringOptions
  /// Where nil stands; nil: first ascending, last descending.
  public var nils: NilPlace?
  /// What of a value makes a section: of a part, for the section of a controller alone, and without
  /// other options.
  public var sectionPart = OrderTerm.Derivation.value

  public init(
    _ keyPath: String, _ direction: Direction = .ascending, options: StringOptions = [],
    nils: NilPlace? = nil
  ) {
    self.keyPath = keyPath
    self.direction = direction
    self.options = options
    self.nils = nils
  }

  /// Smallest first.
  public static func ascending(_ key: some KeyCodable, options: StringOptions = []) -> SortTerm {
    SortTerm(key.rawValue, .ascending, options: options)
  }

  /// Largest first.
  public static func descending(_ key: some KeyCodable, options: StringOptions = []) -> SortTerm {
    SortTerm(key.rawValue, .descending, options: options)
  }

  /// Smallest first, by a key path: `"country.name"`.
  public static func ascending(_ keyPath: String, options: StringOptions = []) -> SortTerm {
    SortTerm(keyPath, .ascending, options: options)
  }

  /// Largest first, by a key path.
  public static func descending(_ keyPath: String, options: StringOptions = []) -> SortTerm {
    SortTerm(keyPath, .descending, options: options)
  }

  /// Sections by a part of a value: `.grouped(by: .initial, of: "name")`.
  public static func grouped(
    by part: OrderTerm.Derivation, of keyPath: String, _ direction: Direction = .ascending
  ) -> SortTerm {
    var term = SortTerm(keyPath, direction)
    term.sectionPart = part
    return term
  }

  /// Sections by a part of a value, by a key.
  public static func grouped(
    by part: OrderTerm.Derivation, of key: some KeyCodable, _ direction: Direction = .ascending
  ) -> SortTerm {
    grouped(by: part, of: key.rawValue, direction)
  }

  /// `-country.name:cd:nullsfirst`.
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
  /// The option of a sort term that folds as these do.
  fileprivate var sortLetters: String {
    (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
  }
}
