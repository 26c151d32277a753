// A resolved key path. It contains only indexes, so that no later stage can fail on it.

/// A resolved key path from an entity over relationships to a property. The indexes are those of the
/// ``Model`` that it was resolved against; another model's methods may trap on them.
public struct PropertyPath: Sendable, Hashable {
  /// The index of the entity where the path starts.
  public let root: Int
  /// Relationship indexes, each in the entity reached so far.
  public let steps: [Int]
  /// The property at the end.
  public let target: Target

  /// The property that a path reads.
  public enum Target: Sendable, Hashable {
    /// The object at the end: its id. Without steps this is `SELF`.
    case object
    /// An attribute of the entity at the end.
    case attribute(Int)
  }

  /// Makes a property path.
  public init(root: Int, steps: [Int] = [], target: Target) {
    self.root = root
    self.steps = steps
    self.target = target
  }
}

extension Model {
  /// Returns the relationships along `path`, in order, and the index of the entity at its end. O(steps).
  public func walk(_ path: PropertyPath) -> (relationships: [Relationship], end: Int) {
    var entity = path.root
    let relationships = path.steps.map { step in
      let relationship = entities[entity].relationships[step]
      entity = relationship.destination
      return relationship
    }
    return (relationships, entity)
  }

  /// True if a step of `path` is a to-many relationship.
  public func isToMany(_ path: PropertyPath) -> Bool {
    walk(path).relationships.contains(where: \.isToMany)
  }

  /// Returns the type of the values that `path` reads; for an object, the type of its id.
  public func type(of path: PropertyPath) -> AttributeType {
    let end = entities[walk(path).end]
    return switch path.target {
    case .object: end.idType
    case .attribute(let index): end.attributes[index].type
    }
  }

  /// Returns `path` as text: `country.name`; `SELF` for the object itself.
  public func text(of path: PropertyPath) -> String {
    let (relationships, end) = walk(path)
    var names = relationships.map(\.name)
    if case .attribute(let index) = path.target {
      names.append(entities[end].attributes[index].name)
    }
    return names.isEmpty ? "SELF" : names.joined(separator: ".")
  }
}

extension [PropertyPath] {
  /// The number of relationships that the paths go over; a common beginning counts once.
  var relationshipCount: Int {
    var beginnings: Set<[Int]> = []
    for path in self {
      for length in stride(from: 1, through: path.steps.count, by: 1) {
        beginnings.insert([Int](path.steps[..<length]))
      }
    }
    return beginnings.count
  }
}
