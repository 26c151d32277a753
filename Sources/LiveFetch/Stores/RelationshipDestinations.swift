// The destinations of the relationships in a store's model, to check declared classes against it.

import FetchModel

/// The destination entities of relationships.
struct RelationshipDestinations: Sendable {
  /// By entity and relationship.
  private var destinations: [String: [String: String]] = [:]
  /// The root entity of each entity, whose ids it shares.
  private var roots: [String: String] = [:]

  /// Those of a model.
  init(_ model: Model) {
    for entity in model.entities {
      destinations[entity.name] = Dictionary(
        entity.relationships.map { ($0.name, model.entities[$0.destination].name) }
      ) { first, _ in first }
      var top = entity
      while let parent = top.inheritance.parent { top = model.entities[parent] }
      roots[entity.name] = top.name
    }
  }

  /// Reads the answer to `GET /v1/model`; nil if it does not have its form.
  init?(json: JSON) {
    guard case .array(let entities)? = json["entities"] else { return nil }
    var parents: [String: String] = [:]
    for entity in entities {
      guard let name = entity["name"]?.string, case .array(let list)? = entity["relationships"]
      else { return nil }
      var found: [String: String] = [:]
      for relationship in list {
        guard let name = relationship["name"]?.string else { continue }
        found[name] = relationship["destination"]?.string
      }
      destinations[name] = found
      parents[name] = entity["parent"]?.string
    }
    for name in destinations.keys {
      var top = name
      for _ in 0..<32 { top = parents[top] ?? top }
      roots[name] = top
    }
  }

  /// Returns the destination of `relationship` if its root entity differs from that of `other`; nil if
  /// they are equal, or one of the names is unknown.
  func conflictingDestination(_ relationship: String, of entity: String, to other: String)
    -> String?
  {
    guard let destination = destinations[entity]?[relationship], let root = roots[destination],
      let otherRoot = roots[other], root != otherRoot
    else { return nil }
    return destination
  }
}

/// A store whose model this library can read.
protocol ModelledStore: ObjectStore {
  /// The destinations in the store's model; nil if they are not known yet.
  func relationshipDestinations() async -> RelationshipDestinations?
}

extension ManagedObjectContext {
  /// Reads the destinations before the first use of a class that declares relationships.
  func learnDestinations(for type: Any.Type, isolation: isolated (any Actor)?) async {
    let root = root
    guard root.destinations == nil, let type = type as? any ManagedEntity.Type,
      layout(of: type).properties.contains(where: { $0.destination != nil })
    else { return }
    guard let store = store as? any ModelledStore,
      let found = await store.relationshipDestinations()
    else { return }
    root.destinations = found
  }

  /// Returns the reason why a class does not fit the store's model, which is a relationship with
  /// another destination; nil if the class fits.
  func destinationProblem(_ layout: EntityLayout) -> String? {
    guard let destinations = root.destinations else { return nil }
    if let known = root.destinationProblems[ObjectIdentifier(layout.type)] { return known }
    var problem: String?
    for property in layout.properties {
      guard let type = property.destination,
        let destination = destinations.conflictingDestination(
          property.name, of: layout.entityName, to: type.entityName)
      else { continue }
      problem =
        "`\(property.name)` leads to `\(destination)`, and not to `\(type.entityName)`"
        + " as \(layout.type) declares"
      break
    }
    root.destinationProblems[ObjectIdentifier(layout.type)] = .some(problem)
    return problem
  }
}
