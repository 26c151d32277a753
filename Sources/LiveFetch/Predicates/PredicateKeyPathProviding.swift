// What `#Predicate` may use of a type: Swift's key paths to the store's names. And the two ways to
// hand such a predicate to a fetch.

import Foundation

/// A type whose properties `#Predicate` can name.
///
/// ```swift
/// extension City: PredicateKeyPathProviding {
///   static var predicateKeyPaths: [AnyKeyPath: String] {
///     [\City.id: "id", \City.name: "name", \City.population: "population"]
///   }
/// }
/// ```
///
/// Related types that a predicate walks through say the same of theirs.
public protocol PredicateKeyPathProviding {
  /// The store's name of each property.
  static var predicateKeyPaths: [AnyKeyPath: String] { get }
}

/// What of a `#Predicate` has no counterpart in the store's language.
public enum PredicateTranslationError: Error, Sendable, Hashable {
  /// A property that its type does not name: see ``PredicateKeyPathProviding``.
  case unknownKeyPath(String)
  /// An operation, as Swift spells it, and why or what to write instead.
  case unsupported(operation: String, reason: String)
  /// A captured value of a type that no property has.
  case unsupportedValue(type: String)
}

extension PredicateTranslationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownKeyPath(let path): "\(path) is not among the type's predicateKeyPaths"
    case .unsupported(let operation, let reason):
      "\(operation) cannot be asked of a store: \(reason)"
    case .unsupportedValue(let type): "a value of type \(type) cannot be asked of a store"
    }
  }
}

extension FetchPredicate {
  /// Foundation's `#Predicate`, translated.
  ///
  /// What it means is what Swift means, with the limits that the article on requests tells: text is
  /// compared by code points, and `x!` of nil does not end the fetch but matches nothing.
  ///
  /// - Throws: ``PredicateTranslationError`` for what the store's language does not have.
  public init<Root: PredicateKeyPathProviding>(
    _ predicate: Foundation.Predicate<Root>
  ) throws(PredicateTranslationError) {
    var translator = PredicateTranslator()
    let variable = predicate.variable
    translator.bind(variable.key, to: .value(FetchModel.Expression(.object)))
    self.init(try translator.condition(predicate.expression))
  }
}

extension FetchRequest where Element: PredicateKeyPathProviding {
  /// A request with Foundation's `#Predicate`.
  ///
  /// ```swift
  /// let request = try FetchRequest(where: #Predicate<City> { $0.population >= 1_000_000 })
  /// ```
  ///
  /// - Throws: ``PredicateTranslationError`` for what the store's language does not have.
  public init(
    where predicate: Foundation.Predicate<Element>, sortedBy terms: [SortTerm] = []
  ) throws(PredicateTranslationError) {
    self.init(where: try FetchPredicate(predicate), sortedBy: terms)
  }
}
