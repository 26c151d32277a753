// Where the relationships of a store's model lead, so that classes can be held against it.

/// The entities that relationships lead to.
public struct RelationshipDestinations: Sendable {
  /// By entity and relationship.
  private var destinations: [String: [String: String]] = [:]
  /// By entity: the one at the top of its family, whose ids it shares.
  private var roots: [String: String] = [:]

  /// Those of a model.
  public init(_ model: Model) {
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
  public init?(json: JSON) {
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

  /// What `relationship` of `entity` leads to, where that is another family of entities than `other`;
  /// nil where it fits, or one of them is not known.
  func misfit(_ relationship: String, of entity: String, to other: String) -> String? {
    guard let destination = destinations[entity]?[relationship], let root = roots[destination],
      let otherRoot = roots[other], root != otherRoot
    else { return nil }
    return destination
  }
}

extension ManagedObjectContext {
  /// Learns where relationships lead, before objects of a class that declares some are made or saved.
  func learnDestinations(for type: Any.Type, isolation: isolated (any Actor)?) async {
    let root = root
    guard root.destinations == nil, let type = type as? any ManagedEntity.Type,
      layout(of: type).properties.contains(where: { $0.destination != nil })
    else { return }
    guard let found = await store.relationshipDestinations() else { return }
    root.destinations = found
  }

  /// Why a class does not fit the store's model: a relationship leads to other objects than it says.
  func destinationProblem(_ layout: EntityLayout) -> String? {
    guard let destinations = root.destinations else { return nil }
    if let known = root.misfits[ObjectIdentifier(layout.type)] { return known }
    var problem: String?
    for property in layout.properties {
      guard let type = property.destination,
        let destination = destinations.misfit(
          property.name, of: layout.entityName, to: type.entityName)
      else { continue }
      problem =
        "`\(property.name)` leads to `\(destination)`, and not to `\(type.entityName)`"
        + " as \(layout.type) declares"
      break
    }
    root.misfits[ObjectIdentifier(layout.type)] = .some(problem)
    return problem
  }
}
