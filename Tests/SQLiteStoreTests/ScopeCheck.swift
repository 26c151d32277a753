// A resolved condition → its parts that occur in the wrong scope.

import FetchModel

/// Searches a resolved condition for parts that occur in a scope other than the one in which they
/// were resolved: key paths from an entity that is not the scope's, and collections whose numbers
/// for the elements' scope differ from the position in which they occur.
struct ScopeCheck {
  let model: Model

  /// Describes the fault of `condition`, a condition on objects of `entity`; nil if there is none.
  func fault(in condition: Condition, of entity: String) -> String? {
    fault(in: condition, [model.entityIndex(named: entity) ?? 0])
  }

  /// - Parameter scopes: the entities of the scopes around the condition.
  private func fault(in condition: Condition, _ scopes: [Int]) -> String? {
    switch condition {
    case .constant: nil
    case .and(let conditions), .or(let conditions):
      conditions.lazy.compactMap { fault(in: $0, scopes) }.first
    case .comparison(let comparison):
      fault(in: comparison.left, scopes) ?? fault(in: comparison.right, scopes)
    case .between(let interval): fault(in: interval.value, scopes)
    case .membership(let membership): fault(in: membership.value, scopes)
    case .exists(let collection, let condition, _):
      fault(in: collection, scopes) ?? fault(in: condition, scopes + [collection.destination])
    }
  }

  private func fault(in value: ResolvedExpression, _ scopes: [Int]) -> String? {
    switch value {
    case .constant, .parameter: nil
    case .path(let path): fault(in: path, scopes)
    case .arithmetic(_, let left, let right): fault(in: left, scopes) ?? fault(in: right, scopes)
    case .function(_, let values), .listAggregate(_, let values):
      values.lazy.compactMap { fault(in: $0, scopes) }.first
    case .conditional(let condition, let yes, let no):
      fault(in: condition, scopes) ?? fault(in: yes, scopes) ?? fault(in: no, scopes)
    case .aggregate(let aggregation):
      fault(in: aggregation.collection, aggregation.condition, aggregation.value, scopes)
    case .element(let element):
      fault(in: element.collection, element.condition, element.value, scopes)
    }
  }

  private func fault(
    in collection: ResolvedCollection, _ condition: Condition, _ value: PropertyPath,
    _ scopes: [Int]
  ) -> String? {
    let inner = scopes + [collection.destination]
    return fault(in: collection, scopes) ?? fault(in: condition, inner)
      ?? fault(in: ScopedPath(scope: scopes.count, path: value), inner)
  }

  private func fault(in path: ScopedPath, _ scopes: [Int]) -> String? {
    guard path.scope < scopes.count else { return "\(path) in \(scopes.count) scopes" }
    return path.path.root == scopes[path.scope] ? nil : "\(path) of another entity"
  }

  private func fault(in collection: ResolvedCollection, _ scopes: [Int]) -> String? {
    guard collection.scope < scopes.count, collection.elementScope == scopes.count else {
      return "\(collection) in \(scopes.count) scopes"
    }
    return collection.entity == scopes[collection.scope] ? nil : "\(collection) of another entity"
  }
}
