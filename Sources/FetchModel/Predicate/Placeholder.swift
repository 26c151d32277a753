public struct ResolvedPredicate: Sendable, Hashable {
  public static let everything = ResolvedPredicate()
  public var paths: [PropertyPath] { [] }
}
public struct StringOptions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let caseInsensitive = StringOptions(rawValue: 1)
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
}
public enum PredicateArgument: Sendable, Hashable {
  case text(String)
  case json(JSON)
}
public struct PredicateError: Error, Sendable, Hashable {}
extension ResolvedPredicate {
  public init(
    parsing: String, arguments: [PredicateArgument], variables: [String: PredicateArgument],
    entity: Int, model: Model
  ) throws(PredicateError) { self.init() }
}
  public static func decode(_ text: String, definition: ResultDefinition) -> OrderKey? { nil }
}
