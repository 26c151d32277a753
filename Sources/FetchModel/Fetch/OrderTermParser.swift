// `-population`, `name:cd:nullslast`, `founded:month` → OrderTerm.

/// Reads one element of `sort`, or `section`.
struct OrderTermParser {
  let model: Model
  let entity: Int
  /// `sort` or `section`; only a section may derive.
  let parameter: String

  func parse(_ text: String) throws(FetchRequestError) -> OrderTerm {
    var parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    var name = parts.removeFirst()
    let direction: Direction = name.hasPrefix("-") ? .descending : .ascending
    if direction == .descending { name.removeFirst() }
    let path = try keyPath(name)
    var nils: NilPlace?
    var options: StringOptions = []
    var derivation = OrderTerm.Derivation.value
    for option in parts {
      switch option {
      case "nullsfirst" where nils == nil: nils = .first
      case "nullslast" where nils == nil: nils = .last
      case "c", "d", "cd":
        guard options.isEmpty else { throw refusal("options that fold stand once") }
        options = try foldingOptions(option, path)
      case "initial", "day", "month", "year":
        derivation = try self.derivation(option, of: path)
      default: throw refusal("unknown option `\(option)` of `\(name)`")
      }
    }
    guard derivation == .value || options.isEmpty else {
      throw refusal("`\(derivation.rawValue)` takes no folding option")
    }
    return OrderTerm(
      path: path, derivation: derivation, direction: direction, nils: nils, options: options)
  }

  private func refusal(_ detail: String) -> FetchRequestError {
    .badValue(parameter: parameter, detail: detail)
  }

  private func keyPath(_ name: String) throws(FetchRequestError) -> PropertyPath {
    let path: PropertyPath
    do {
      path = try model.path(name, from: entity)
    } catch {
      throw .unknownKeyPath(parameter: parameter, error: error)
    }
    guard !model.isToMany(path) else {
      throw refusal("`\(name)` leads to many objects, which have no one place in an order")
    }
    return path
  }

  private func foldingOptions(
    _ option: String, _ path: PropertyPath
  ) throws(FetchRequestError) -> StringOptions {
    guard [.string, .uri, .uuid].contains(model.type(of: path)) else {
      throw refusal("`\(option)` folds text, and `\(model.text(of: path))` is none")
    }
    var options: StringOptions = []
    if option.contains("c") { options.insert(.caseInsensitive) }
    if option.contains("d") { options.insert(.diacriticInsensitive) }
    return options
  }

  private func derivation(
    _ option: String, of path: PropertyPath
  ) throws(FetchRequestError) -> OrderTerm.Derivation {
    guard parameter == "section", let derivation = OrderTerm.Derivation(rawValue: option) else {
      throw refusal("`\(option)` belongs to `section`")
    }
    let type = model.type(of: path)
    guard derivation == .initial ? type == .string : type == .date else {
      throw refusal(
        "`\(option)` is taken of a \(derivation == .initial ? "string" : "date"), and "
          + "`\(model.text(of: path))` is \(type.rawValue)")
    }
    return derivation
  }
}
