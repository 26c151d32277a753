// A predicate: text in NSPredicate's format language and its arguments.

import FetchModel

/// A predicate as text with arguments.
///
/// ```swift
/// FetchPredicate("population >= %ld AND country.continent == %@", 1_000_000, "Europe")
/// ```
public struct FetchPredicate: Sendable, Hashable {
  /// In NSPredicate's format language.
  public let format: String
  /// The values of `%@ %K %ld %f …`, in order.
  public let arguments: [JSON]

  /// - Parameters:
  ///   - format: the predicate text. The store reports errors in it when the request is fetched.
  ///   - arguments: the values of its placeholders, in order.
  public init(_ format: String, _ arguments: any PredicateArgumentConvertible...) {
    self.init(format: format, arguments: arguments.map(\.predicateArgument))
  }

  /// - Parameters:
  ///   - format: the predicate text. The store reports errors in it when the request is fetched.
  ///   - arguments: the values of its placeholders, in order, as JSON.
  public init(format: String, arguments: [JSON]) {
    self.format = format
    self.arguments = arguments
  }

  /// Converts a syntax tree.
  public init(_ predicate: FetchModel.Predicate) {
    let formatted = predicate.formatted()
    self.init(
      format: formatted.text,
      arguments: formatted.arguments.map { argument in
        switch argument {
        case .json(let json): json
        case .text(let text): .string(text)
        // Only plans have parameters.
        case .parameter: .null
        }
      })
  }

  /// Matches the objects with these ids.
  public static func ids(_ ids: some Sequence<ObjectID>) -> FetchPredicate {
    FetchPredicate(format: "SELF IN %@", arguments: [.array(ids.map(\.predicateArgument))])
  }

  /// Matches objects that both predicates match.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    FetchPredicate(
      format: "(\(left.format)) AND (\(right.format))",
      arguments: left.arguments + right.arguments)
  }

  /// Matches objects that either predicate matches.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    FetchPredicate(
      format: "(\(left.format)) OR (\(right.format))",
      arguments: left.arguments + right.arguments)
  }

  /// Matches every object that `predicate` does not match.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate {
    FetchPredicate(format: "NOT (\(predicate.format))", arguments: predicate.arguments)
  }
}
