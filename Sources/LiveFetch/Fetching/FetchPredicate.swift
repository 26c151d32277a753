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
  /// The operator that joins the parts of the format at its top; nil if that is not known.
  private var connective: String?

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
  package init(_ predicate: FetchModel.Predicate) {
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
    joined(left, "AND", right)
  }

  /// Matches objects that either predicate matches.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    joined(left, "OR", right)
  }

  /// Does not nest parts that the same operator joins: stores limit the depth of a predicate.
  private static func joined(
    _ left: FetchPredicate, _ connective: String, _ right: FetchPredicate
  ) -> FetchPredicate {
    func part(_ predicate: FetchPredicate) -> String {
      predicate.connective == connective ? predicate.format : "(\(predicate.format))"
    }
    var joined = FetchPredicate(
      format: "\(part(left)) \(connective) \(part(right))",
      arguments: left.arguments + right.arguments)
    joined.connective = connective
    return joined
  }

  /// Matches every object that `predicate` does not match.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate {
    FetchPredicate(format: "NOT (\(predicate.format))", arguments: predicate.arguments)
  }
}

extension FetchPredicate {
  public static func == (left: FetchPredicate, right: FetchPredicate) -> Bool {
    left.format == right.format && left.arguments == right.arguments
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(format)
    hasher.combine(arguments)
  }
}
