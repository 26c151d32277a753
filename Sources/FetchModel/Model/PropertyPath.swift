// A key path that was looked up in the model: indexes only, nothing that could fail later.

/// A resolved key path from an entity over relationships to a property.
public struct PropertyPath: Sendable, Hashable {
  /// The index of the entity it starts from.
  public let root: Int
  /// Relationship indexes, each in the entity reached so far.
  public let steps: [Int]
  /// What it reads at the end.
  public let target: Target

  public enum Target: Sendable, Hashable {
    /// The object reached itself: its id. With no steps this is `SELF`.
    case object
    /// An attribute of the entity reached.
    case attribute(Int)
  }

  public init(root: Int, steps: [Int] = [], target: Target) {
    self.root = root
    self.steps = steps
    self.target = target
  }
}

extension Model {
  /// The relationships along `path`, in order, and the entity at its end.
  public func walk(_ path: PropertyPath) -> (relationships: [Relationship], end: Int) {
    var entity = path.root
    let relationships = path.steps.map { step in
      let relationship = entities[entity].relationships[step]
      entity = relationship.destination
      return relationship
    }
    return (relationships, entity)
  }

  /// Whether a step of `path` leads to many objects.
  public func isToMany(_ path: PropertyPath) -> Bool {
    walk(path).relationships.contains(where: \.isToMany)
  }

  /// The type of the values that `path` reads; an object's is that of its id.
  public func type(of path: PropertyPath) -> AttributeType {
    let end = entities[walk(path).end]
    return switch path.target {
    case .object: end.idType
    case .attribute(let index): end.attributes[index].type
    }
  }

  /// `path` as text: `country.name`; `SELF` for the object itself.
  public func text(of path: PropertyPath) -> String {
    let (relationships, end) = walk(path)
    var names = relationships.map(\.name)
    if case .attribute(let index) = path.target {
      names.append(entities[end].attributes[index].name)
    }
    return names.isEmpty ? "SELF" : names.joined(separator: ".")
  }
}
