// Maps Swift key paths to the store's names for `#Predicate`, and converts such predicates for
// fetches.

import FetchModel
import Foundation

/// A type whose properties `#Predicate` can use.
///
/// ```swift
/// extension City: PredicateKeyPathProviding {
///   static var predicateKeyPaths: [AnyKeyPath: String] {
///     [\City.id: "id", \City.name: "name", \City.population: "population"]
///   }
/// }
/// ```
///
/// Related types in a predicate's key paths conform as well.
public protocol PredicateKeyPathProviding: SendableMetatype {
  /// The name of each property in the store's model.
  static var predicateKeyPaths: [AnyKeyPath: String] { get }
}

/// The reason why a `#Predicate` cannot be translated.
public enum PredicateTranslationError: Error, Sendable, Hashable {
  /// A property without a name: see ``PredicateKeyPathProviding``.
  case unknownKeyPath(String)
  /// An unsupported operation in Swift's spelling, and the reason or an alternative.
  case unsupported(operation: String, reason: String)
  /// A captured value of an unsupported type.
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
  /// Translates Foundation's `#Predicate`.
  ///
  /// The meaning is Swift's, with the limits listed in the article on requests: text is compared by
  /// code point, and `x!` of nil matches nothing instead of ending the program.
  ///
  /// - Throws: ``PredicateTranslationError`` for operations that the predicate language lacks.
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
  /// Creates a request with Foundation's `#Predicate`.
  ///
  /// ```swift
  /// let request = try FetchRequest(where: #Predicate<City> { $0.population >= 1_000_000 })
  /// ```
  ///
  /// - Throws: ``PredicateTranslationError`` for operations that the predicate language lacks.
  public init(
    where predicate: Foundation.Predicate<Element>, sortedBy terms: [SortTerm] = []
  ) throws(PredicateTranslationError) {
    self.init(where: try FetchPredicate(predicate), sortedBy: terms)
  }
}
