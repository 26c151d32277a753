// The model: what a store holds, in Core Data's words. A store makes one when it opens;
// everything later (resolver, SQL, engine, routes) reads it and never changes it.

/// The entities of a store, with their attributes and relationships.
///
/// Entities are referred to by their index in ``entities``: a resolved plan holds indexes only, so
/// that no later stage can meet a name that does not exist.
public struct Model: Sendable {
  /// Every entity, in the order in which the model declares them.
  public let entities: [Entity]
  /// The model file that the rules come from; nil where the tables alone say what there is.
  public let file: ModelFile?
  /// The classes of transformable values.
  public let classes: ClassHierarchy
  /// Transformers of the program's own, by the names that attributes give.
  public var transformers: [String: ValueTransformer] = [:]
  private let indexByName: [String: Int]

  public init(entities: [Entity], file: ModelFile? = nil) {
    self.entities = entities
    self.file = file
    classes = ClassHierarchy(file?.classes ?? [])
    indexByName = Dictionary(
      entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The index of the entity called exactly `name`, nil if there is none.
  public func entityIndex(named name: String) -> Int? { indexByName[name] }

}

/// One entity: a table or a view, or an entity of a model file.
public struct Entity: Sendable, Hashable {
  public let name: String
  /// The attributes but the id, in the model's order.
  public let attributes: [Attribute]
  /// The relationships, to-one and to-many, in the model's order.
  public let relationships: [Relationship]
  /// Attributes and relationships together, in the order in which items show them.
  public let propertyOrder: [Property]
  /// The type of the ids. Composite keys have `.string` ids.
  public let idType: AttributeType
  /// Further names that predicates may use for a property: raw column names, the key's own name.
  public let aliases: [String: Property]
  /// Whether a fetch of it can be followed with `since`. False for views and keyless tables.
  public let isObservable: Bool
  /// Whether saves may change it.
  public let isWritable: Bool
  /// Where it stands among entities that inherit from each other.
  public let inheritance: Inheritance
  private let propertyByName: [String: Property]

  public init(
    name: String, attributes: [Attribute], relationships: [Relationship],
    propertyOrder: [Property]? = nil, idType: AttributeType, aliases: [String: Property] = [:],
    isObservable: Bool = true, isWritable: Bool = true, inheritance: Inheritance = .none
  ) {
    self.name = name
    self.inheritance = inheritance
    self.attributes = attributes
    self.relationships = relationships
    self.propertyOrder =
      propertyOrder ?? attributes.indices.map { .attribute($0) }
      + relationships.indices.map { .relationship($0) }
    self.idType = idType
    self.aliases = aliases
    self.isObservable = isObservable
    self.isWritable = isWritable
    var byName: [String: Property] = ["id": .id]
    for (index, attribute) in attributes.enumerated() { byName[attribute.name] = .attribute(index) }
    for (index, relationship) in relationships.enumerated() {
      byName[relationship.name] = .relationship(index)
    }
    propertyByName = byName
  }

  /// The property that items show under `name`, nil if there is none.
  public func property(named name: String) -> Property? { propertyByName[name] }

  /// The property that a predicate means by `name`: a name or an alias of one.
  public func property(namedOrAliased name: String) -> Property? {
    propertyByName[name] ?? aliases[name]
  }

  /// Every name that ``property(named:)`` knows, for hints.
  public var propertyNames: [String] {
    ["id"] + attributes.map(\.name) + relationships.map(\.name)
  }
}

/// A property of an entity by its place in the entity's lists.
public enum Property: Sendable, Hashable {
  case id
  case attribute(Int)
  case relationship(Int)
}

/// What the values of an attribute are.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  case integer, double, decimal, string, boolean, date, binary, uuid, uri, json

  /// Whether values of this type are compared and calculated with as numbers.
  public var isNumeric: Bool {
    switch self {
    case .integer, .double, .decimal, .boolean: true
    case .string, .date, .binary, .uuid, .uri, .json: false
    }
  }
}

/// One attribute.
public struct Attribute: Sendable, Hashable {
  public let name: String
  public let type: AttributeType
  public let isOptional: Bool
  /// Whether an insert may leave it out although it is not optional.
  public let hasDefault: Bool
  /// How a date is stored; nil for other types.
  public let dateFormat: DateFormat?
  /// Whether it can be saved; false for generated columns.
  public let isWritable: Bool
  /// Whether items show it only where it is selected: fields behind a transformable attribute, and
  /// the name of the object's entity.
  public let isHidden: Bool
  /// What the model file says of it; nil without one.
  public let declaration: ModelFile.Attribute?

  public init(
    name: String, type: AttributeType, isOptional: Bool = true, hasDefault: Bool = false,
    dateFormat: DateFormat? = nil, isWritable: Bool = true, isHidden: Bool = false,
    declaration: ModelFile.Attribute? = nil
  ) {
    self.isHidden = isHidden
    self.declaration = declaration
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.hasDefault = hasDefault
    self.dateFormat = dateFormat
    self.isWritable = isWritable
  }
}

/// How a date column stores its dates.
public enum DateFormat: String, Sendable, Hashable {
  /// ISO 8601 text with `T` and `Z`: `2024-01-31T10:00:00Z`.
  case iso8601
  /// SQLite's own text form: `2024-01-31 10:00:00`, UTC.
  case sqlText
  /// A day alone: `2024-01-31`.
  case day
  /// A number of seconds since 1970.
  case unixSeconds
}

/// One relationship, seen from the entity that lists it.
public struct Relationship: Sendable, Hashable {
  public let name: String
  /// The index of the entity it leads to.
  public let destination: Int
  public let isToMany: Bool
  /// Whether the objects of a to-many relationship have an order of their own: `[FIRST]`, `[n]`.
  public let isOrdered: Bool
  public let isOptional: Bool
  /// What the model file says of it; nil without one.
  public let declaration: ModelFile.Relationship?
  /// The index of its inverse among the destination's relationships, nil if it has none.
  public let inverse: Int?

  public init(
    name: String, destination: Int, isToMany: Bool, isOptional: Bool = true, inverse: Int? = nil,
    isOrdered: Bool = false, declaration: ModelFile.Relationship? = nil
  ) {
    self.isOrdered = isOrdered
    self.declaration = declaration
    self.name = name
    self.destination = destination
    self.isToMany = isToMany
    self.isOptional = isOptional
    self.inverse = inverse
  }
}
