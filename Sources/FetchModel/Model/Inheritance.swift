// Inheritance between entities that share a table.

/// An entity's relation to the entities that share its table.
public struct Inheritance: Sendable, Hashable {
  /// The index of the parent entity; nil without one.
  public let parent: Int?
  /// The index of the root entity, whose table holds the objects of all its subentities.
  public let root: Int?
  /// The indexes of all direct and indirect subentities.
  public let subentities: [Int]
  /// True if only subentities have objects.
  public let isAbstract: Bool
  /// The index of the attribute that holds the name of an object's entity; nil if the entity does
  /// not share its table.
  public let discriminator: Int?

  /// Makes the inheritance of an entity.
  public init(
    parent: Int? = nil, root: Int? = nil, subentities: [Int] = [], isAbstract: Bool = false,
    discriminator: Int? = nil
  ) {
    self.parent = parent
    self.root = root
    self.subentities = subentities
    self.isAbstract = isAbstract
    self.discriminator = discriminator
  }

  /// An entity that does not share its table.
  public static let none = Inheritance()

  /// The key of the entity's name in items, and the name of the attribute that holds it.
  public static let key = "entity"
}

extension Model {
  /// Returns the entity names with which an entity's objects are stored; nil if all rows of the
  /// table are the entity's.
  ///
  /// - Parameter subentities: True to include the objects of subentities.
  public func storedNames(of entity: Int, subentities: Bool = true) -> [String]? {
    let inheritance = entities[entity].inheritance
    guard inheritance.discriminator != nil else { return nil }
    if subentities, inheritance.root == entity { return nil }
    let others = subentities ? inheritance.subentities : []
    return ([entity] + others).filter { !entities[$0].inheritance.isAbstract }
      .map { entities[$0].name }
  }

  /// Returns the condition that selects an entity's objects in its table.
  public func membership(of entity: Int, subentities: Bool = true) -> ResolvedPredicate {
    guard let discriminator = entities[entity].inheritance.discriminator,
      let names = storedNames(of: entity, subentities: subentities)
    else { return .everything }
    let path = PropertyPath(root: entity, target: .attribute(discriminator))
    let value = ResolvedExpression.path(ScopedPath(scope: 0, path: path))
    let condition: Condition =
      switch names.count {
      case 0: .constant(false)
      case 1: .comparison(Comparison(value, .equal, .constant(.string(names[0]))))
      default:
        .membership(
          Membership(
            value: value, values: names.map { .string($0) }, includesNil: false, options: [],
            isNegated: false))
      }
    return ResolvedPredicate(condition: condition, paths: [path], isNondeterministic: false)
  }
}
