public struct ResolvedPredicate: Sendable, Hashable {
  public static let everything = ResolvedPredicate()
  public var paths: [PropertyPath] { [] }
}
