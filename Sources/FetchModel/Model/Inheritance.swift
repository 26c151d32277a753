// Entities that share a table, and which of its rows are whose.

/// Where an entity stands among those that it shares a table with.
public struct Inheritance: Sendable, Hashable {
  /// The index of the entity that it inherits from.
  public let parent: Int?
  /// The index of the entity at the top, whose table holds the objects of all below.
  public let root: Int?
  /// The indexes of every entity below, at any depth.
  public let subentities: [Int]
  public let isAbstract: Bool
  /// The index of the attribute that holds the name of the object's entity; nil where the entity
  /// has a table for itself.
  public let discriminator: Int?

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

  /// An entity with a table for itself.
  public static let none = Inheritance()

  /// The key under which items tell their entity, and the name of the attribute that holds it.
  public static let key = "entity"
}

extension Model {
  /// The names under which objects of an entity are stored; nil where all of its table's are.
  ///
  /// - Parameter subentities: whether those below count.
  public func storedNames(of entity: Int, subentities: Bool = true) -> [String]? {
    let inheritance = entities[entity].inheritance
    guard inheritance.discriminator != nil else { return nil }
    if subentities, inheritance.root == entity { return nil }
    let others = subentities ? inheritance.subentities : []
    return ([entity] + others).filter { !entities[$0].inheritance.isAbstract }
      .map { entities[$0].name }
  }

  /// What every object of an entity meets among the rows of its table.
  public func membership(of entity: Int, subentities: Bool = true) -> ResolvedPredicate {
    guard let discriminator = entities[entity].inheritance.discriminator,
      let names = storedNames(of: entity, subentities: subentities)
    else { return .everything }
    let path = PropertyPath(root: entity, target: .attribute(discriminator))
    let value = ResolvedExpression.path(ScopedPath(scope: 0, path: path))
    let condition: Condition =
      names.isEmpty
      ? .constant(false)
      : names.count == 1
        ? .comparison(
          Comparison(
            left: value, relation: .equal, right: .constant(.string(names[0])), options: [],
            isNegated: false))
        : .membership(
          Membership(
            value: value, values: names.map { .string($0) }, includesNil: false, options: [],
            isNegated: false))
    return ResolvedPredicate(condition: condition, paths: [path], isVolatile: false)
  }
}
