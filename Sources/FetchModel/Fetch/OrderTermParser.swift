// `-population`, `name:cd:nullslast`, `founded:month` → OrderTerm.

/// A term as it was written, its name not looked up.
struct OrderTermText {
  let name: String
  let direction: Direction
  private(set) var nils: NilPlace?
  private(set) var options: StringOptions = []
  private(set) var derivation = OrderTerm.Derivation.value

  /// - Parameters:
  ///   - parameter: `sort` or `section`; only a section may derive.
  ///   - isKnown: returns true for a known name. A name may begin with `-` or contain
  ///     `:`; shorter readings of the text are tried first.
  init(
    _ text: String, parameter: String, isKnown: (String) -> Bool = { _ in false }
  ) throws(FetchRequestError) {
    guard text.utf8.count <= Self.maxBytes else {
      throw .badValue(parameter: parameter, detail: "a term has at most \(Self.maxBytes) bytes")
    }
    let words: [String]
    (name, direction, words) = Self.split(text, isKnown)
    for option in words { try read(option, parameter) }
    guard derivation == .value || options.isEmpty else {
      throw .badValue(
        parameter: parameter, detail: "`\(derivation.rawValue)` takes no folding option")
    }
  }

  /// Every option that may follow a colon.
  static let options = [
    "c", "d", "cd", "nullsfirst", "nullslast", "initial", "day", "month", "year",
  ]

  /// The maximum length of a term.
  private static let maxBytes = 1 << 16
  /// The maximum number of valid options: a place of nil, folding, and a derivation.
  private static let maxOptions = 3

  private static func split(
    _ text: String, _ isKnown: (String) -> Bool
  ) -> (name: String, direction: Direction, options: [String]) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    let isDescending = text.hasPrefix("-")
    for count in max(1, parts.count - maxOptions)...parts.count {
      let name = parts[..<count].joined(separator: ":")
      let options = Array(parts[count...])
      if isDescending, isKnown(String(name.dropFirst())) {
        return (String(name.dropFirst()), .descending, options)
      }
      if isKnown(name) { return (name, .ascending, options) }
    }
    let name = isDescending ? String(parts[0].dropFirst()) : parts[0]
    return (name, isDescending ? .descending : .ascending, Array(parts[1...]))
  }

  private mutating func read(
    _ option: String, _ parameter: String
  ) throws(FetchRequestError) {
    switch option {
    case "nullsfirst" where nils == nil: nils = .first
    case "nullslast" where nils == nil: nils = .last
    case "c", "d", "cd":
      guard options.isEmpty else {
        throw .badValue(parameter: parameter, detail: "a folding option may be given once")
      }
      if option.contains("c") { options.insert(.caseInsensitive) }
      if option.contains("d") { options.insert(.diacriticInsensitive) }
    case "initial", "day", "month", "year":
      guard parameter == "section", let derivation = OrderTerm.Derivation(rawValue: option) else {
        throw .badValue(parameter: parameter, detail: "`\(option)` belongs to `section`")
      }
      self.derivation = derivation
    default:
      throw .badValue(parameter: parameter, detail: "unknown option `\(option)` of `\(name)`")
    }
  }
}

/// Reads one element of `sort`, or `section`.
struct OrderTermParser {
  let model: Model
  let entity: Int
  /// `sort` or `section`; only a section may derive.
  let parameter: String

  func parse(_ text: String) throws(FetchRequestError) -> OrderTerm {
    let term = try OrderTermText(text, parameter: parameter) { name in
      (try? model.path(name, from: entity)) != nil
    }
    let path = try keyPath(term.name)
    try checkFolding(term.options, path)
    try checkDerivation(term.derivation, of: path)
    return OrderTerm(
      path: path, derivation: term.derivation, direction: term.direction, nils: term.nils,
      options: term.options)
  }

  private func refusal(_ detail: String) -> FetchRequestError {
    .badValue(parameter: parameter, detail: detail)
  }

  private func keyPath(_ name: String) throws(FetchRequestError) -> PropertyPath {
    let path: PropertyPath
    do {
      path = try model.path(name, from: entity)
    } catch {
      if let written = optionAfterColon(name) {
        throw refusal("`\(name)` is no key path: write `\(written)`, an option after a colon")
      }
      throw .unknownKeyPath(parameter: parameter, error: error)
    }
    guard !model.isToMany(path) else {
      throw refusal("`\(name)` leads to many objects, which have no one place in an order")
    }
    return path
  }

  /// `founded:month` for `founded.month`; nil if `name` is not a known key path and an option.
  private func optionAfterColon(_ name: String) -> String? {
    guard let dot = name.lastIndex(of: ".") else { return nil }
    let (path, option) = (String(name[..<dot]), String(name[name.index(after: dot)...]))
    guard OrderTermText.options.contains(option) else { return nil }
    guard (try? model.path(path, from: entity)) != nil else { return nil }
    return "\(path):\(option)"
  }

  private func checkFolding(
    _ options: StringOptions, _ path: PropertyPath
  ) throws(FetchRequestError) {
    guard options.isEmpty || [.string, .uri, .uuid].contains(model.type(of: path)) else {
      throw refusal("`c` and `d` fold text, and `\(model.text(of: path))` is none")
    }
  }

  private func checkDerivation(
    _ derivation: OrderTerm.Derivation, of path: PropertyPath
  ) throws(FetchRequestError) {
    guard derivation != .value else { return }
    let type = model.type(of: path)
    guard derivation == .initial ? type == .string : type == .date else {
      throw refusal(
        "`\(derivation.rawValue)` is taken of a \(derivation == .initial ? "string" : "date"), and "
          + "`\(model.text(of: path))` is \(type.rawValue)")
    }
  }
}
