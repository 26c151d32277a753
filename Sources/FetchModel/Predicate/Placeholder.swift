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
