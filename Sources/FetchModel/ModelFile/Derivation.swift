// The text of a derivation expression ↔ the source of a derived attribute's value.

/// The computation of a derived attribute, made at each save.
public enum Derivation: Sendable, Hashable {
  /// A text attribute of the same object, transformed: `canonical:(name)`.
  case text(TextFunction, attribute: String)
  /// The value of a to-one key path: `country.name`.
  case path([String])
  /// The number of objects of a to-many relationship: `cities.@count`.
  case count(relationship: String)
  /// The sum of an attribute over a to-many relationship: `cities.@sum.population`.
  case sum(relationship: String, attribute: String)
  /// The time of the last save that changed the object: `now()`.
  case now

  /// A function from text to text.
  public enum TextFunction: String, Sendable, Hashable, CaseIterable {
    case canonical, uppercase, lowercase
  }

  /// Parses an expression in Core Data's syntax; nil for an unsupported one.
  public init?(_ text: String) {
    let text = text.filter { !$0.isWhitespace }
    if text == "now()" {
      self = .now
      return
    }
    for function in TextFunction.allCases where text.hasPrefix("\(function.rawValue):(") {
      let inner = text.dropFirst(function.rawValue.count + 2)
      guard inner.last == ")", Self.isName(inner.dropLast()) else { return nil }
      self = .text(function, attribute: String(inner.dropLast()))
      return
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    switch parts.count {
    case 2 where parts[1] == "@count" && Self.isName(parts[0]):
      self = .count(relationship: parts[0])
    case 3 where parts[1] == "@sum" && Self.isName(parts[0]) && Self.isName(parts[2]):
      self = .sum(relationship: parts[0], attribute: parts[2])
    case 2... where parts.allSatisfy(Self.isName): self = .path(parts)
    default: return nil
    }
  }

  private static func isName(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 != 0x40 && $0 != 0x28 && $0 != 0x29 && $0 != 0x3A }
  }

  /// The expression.
  public var text: String {
    switch self {
    case .text(let function, let attribute): "\(function.rawValue):(\(attribute))"
    case .path(let names): names.joined(separator: ".")
    case .count(let relationship): "\(relationship).@count"
    case .sum(let relationship, let attribute): "\(relationship).@sum.\(attribute)"
    case .now: "now()"
    }
  }
}
