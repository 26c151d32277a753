// The model: the entities of a store, in Core Data's terms. A store creates it on opening. All
// later stages (resolver, SQL, engine, routes) read it and never change it.

/// The entities of a store, with their attributes and relationships.
///
/// Indexes into ``entities`` identify entities. A resolved plan contains only indexes, so that no
/// later stage can encounter an unknown name.
public struct Model: Sendable {
  /// All entities in the model's declaration order.
  public let entities: [Entity]
  /// The model file that defines the rules; nil if the model was inferred from the tables.
  public let file: ModelFile?
  /// The classes of transformable values.
  public let classes: ClassHierarchy
  /// Transformers registered by the program, by the names that attributes use.
  public var transformers: [String: ValueTransformer] = [:]
  private let indexByName: [String: Int]

  /// Creates a model. Entity names must be unique. O(entities).
  public init(entities: [Entity], file: ModelFile? = nil) {
    self.entities = entities
    self.file = file
    classes = ClassHierarchy(file?.classes ?? [])
    indexByName = Dictionary(
      entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Creates a model with other versions of the entities of `model`.
  init(replacing entities: [Entity], in model: Model) {
    self.entities = entities
    file = model.file
    classes = model.classes
    transformers = model.transformers
    indexByName = model.indexByName
  }

  /// Returns the index of the entity with exactly this name; nil without one.
  public func entityIndex(named name: String) -> Int? { indexByName[name] }
}

/// An entity: a table or a view, or an entity of a model file.
public struct Entity: Sendable, Hashable {
  /// The name, unique in the model.
  public let name: String
  /// The attributes except the id, in the model's order.
  public private(set) var attributes: [Attribute]
  /// The relationships, to-one and to-many, in the model's order.
  public let relationships: [Relationship]
  /// Attributes and relationships together, in the order of an item's members.
  public private(set) var propertyOrder: [Property]
  /// The type of the ids. Composite keys have `.string` ids.
  public let idType: AttributeType
  /// True if some ids of this entity of integer ids may be texts: a key of SQLite that is declared as an
  /// integer and is no alias of the rowid.
  public let mayHaveTextIDs: Bool
  /// The store's spelling of ids that are UUIDs.
  public let uuidStyle: ColumnEncoding.UUIDStyle
  /// Additional names for properties in predicates: column names, and the key's own name.
  public private(set) var aliases: [String: Property]
  /// True if a fetch of the entity can be repeated with `since`. False for views and keyless
  /// tables.
  public let isObservable: Bool
  /// True if fetches can be followed as soon as another transaction has released the table.
  public let isLocked: Bool
  /// True if saves may change its objects.
  public let isWritable: Bool
  /// Its relation to the entities that share its table.
  public let inheritance: Inheritance
  /// The attributes that the caller does not see. No name leads to them.
  public private(set) var hiddenAttributes: Set<Int>
  /// The attributes of which no two objects have the same value.
  public let unique: Set<Int>
  /// The properties that are part of the key, which an update cannot change: columns of a composite key,
  /// and to-one relationships whose columns are all key columns.
  public let keyProperties: Set<Property>
  /// True if an insert has to give the key, which is one column without a default.
  public let needsKey: Bool
  /// True if an id is the hash of a row's values, as in a view without a column `id`.
  public let isIdentifiedByHash: Bool
  /// False if access rules cannot restrict `read`, because SQLite gives one of the table's columns another
  /// name in subqueries.
  public let isRestrictable: Bool
  private var propertyByName: [String: Property] = [:]

  /// Makes an entity.
  public init(
    name: String, attributes: [Attribute], relationships: [Relationship],
    propertyOrder: [Property]? = nil, idType: AttributeType, aliases: [String: Property] = [:],
    isObservable: Bool = true, isLocked: Bool = false, isWritable: Bool = true,
    inheritance: Inheritance = .none,
    hiddenAttributes: Set<Int> = [], unique: Set<Int> = [], keyProperties: Set<Property> = [],
    needsKey: Bool = false, isIdentifiedByHash: Bool = false, isRestrictable: Bool = true,
    mayHaveTextIDs: Bool = false, uuidStyle: ColumnEncoding.UUIDStyle = .upper
  ) {
    self.name = name
    self.hiddenAttributes = hiddenAttributes
    self.unique = unique
    self.keyProperties = keyProperties
    self.needsKey = needsKey
    self.isIdentifiedByHash = isIdentifiedByHash
    self.isRestrictable = isRestrictable
    self.mayHaveTextIDs = mayHaveTextIDs
    self.uuidStyle = uuidStyle
    self.inheritance = inheritance
    self.attributes = attributes
    self.relationships = relationships
    self.propertyOrder =
      propertyOrder ?? attributes.indices.map { .attribute($0) }
      + relationships.indices.map { .relationship($0) }
    self.idType = idType
    self.aliases = aliases
    self.isObservable = isObservable
    self.isLocked = isLocked
    self.isWritable = isWritable
    indexProperties()
  }

  private mutating func indexProperties() {
    propertyByName = ["id": .id]
    for (index, attribute) in attributes.enumerated() where !hiddenAttributes.contains(index) {
      propertyByName[attribute.name] = .attribute(index)
    }
    for (index, relationship) in relationships.enumerated() {
      propertyByName[relationship.name] = .relationship(index)
    }
  }

  /// Returns the property that items show under `name`; nil without one.
  public func property(named name: String) -> Property? { propertyByName[name] }

  /// The name of the key's column; nil if it is the `id` of a table, or if the key has several columns.
  public var keyName: String? {
    let names = aliases.filter { $0.value == .id }.keys
    return names.count == 1 ? names.first : nil
  }

  /// Returns the property with this name or alias; nil without one.
  public func property(namedOrAliased name: String) -> Property? {
    propertyByName[name] ?? aliases[name]
  }

  /// Every name that ``property(named:)`` accepts, for hints.
  public var propertyNames: [String] { ["id"] + attributeNames + relationships.map(\.name) }

  /// The names of the attributes that the caller sees.
  public var attributeNames: [String] {
    attributes.indices.filter { !hiddenAttributes.contains($0) }.map { attributes[$0].name }
  }

  /// Returns the entity without names for some of its attributes.
  func hiding(_ hiddenAttributes: Set<Int>) -> Entity {
    func isShown(_ property: Property) -> Bool {
      if case .attribute(let index) = property { !hiddenAttributes.contains(index) } else { true }
    }
    var entity = self
    for index in attributes.indices where hiddenAttributes.contains(index) {
      entity.attributes[index].isHidden = true
    }
    entity.propertyOrder = propertyOrder.filter(isShown)
    entity.aliases = aliases.filter { isShown($0.value) }
    entity.hiddenAttributes = hiddenAttributes
    entity.indexProperties()
    return entity
  }

  /// Returns the entity with more attributes.
  func adding(_ attributes: [Attribute]) -> Entity {
    var entity = self
    entity.attributes += attributes
    entity.indexProperties()
    return entity
  }
}

/// A property of an entity, identified by its index in the entity's lists.
public enum Property: Sendable, Hashable {
  case id
  case attribute(Int)
  case relationship(Int)
}

/// The type of an attribute's values.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
  case integer, double, decimal, string, boolean, date, binary, uuid, uri, json

  /// True if values of this type are compared and calculated as numbers.
  public var isNumeric: Bool {
    switch self {
    case .integer, .double, .decimal, .boolean: true
    case .string, .date, .binary, .uuid, .uri, .json: false
    }
  }
}

/// An attribute of an entity.
public struct Attribute: Sendable, Hashable {
  /// The name, unique in the entity.
  public let name: String
  /// The type of the attribute's values.
  public let type: AttributeType
  /// True if the attribute may be nil.
  public let isOptional: Bool
  /// True if an insert may omit the attribute although it is not optional.
  public let hasDefault: Bool
  /// The storage format of dates; nil for other types.
  public let dateFormat: DateFormat?
  /// False for generated columns, which saves cannot set.
  public let isWritable: Bool
  /// True if items show the attribute only if it is selected: fields of a transformable attribute,
  /// and the name of the object's entity.
  public fileprivate(set) var isHidden: Bool
  /// True for a column of SQLite without a declared type, which stores numbers and text alike. ``type``
  /// is that of its first value.
  public let isUntyped: Bool
  /// The declaration in the model file; nil without one.
  public let declaration: ModelFile.Attribute?

  /// Makes an attribute.
  public init(
    name: String, type: AttributeType, isOptional: Bool = true, hasDefault: Bool = false,
    dateFormat: DateFormat? = nil, isWritable: Bool = true, isHidden: Bool = false,
    isUntyped: Bool = false, declaration: ModelFile.Attribute? = nil
  ) {
    self.isHidden = isHidden
    self.isUntyped = isUntyped
    self.declaration = declaration
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.hasDefault = hasDefault
    self.dateFormat = dateFormat
    self.isWritable = isWritable
  }
}

/// The format in which a column stores dates.
public enum DateFormat: String, Sendable, Hashable {
  /// ISO 8601 text with `T` and `Z`: `2024-01-31T10:00:00Z`.
  case iso8601
  /// SQLite's text format: `2024-01-31 10:00:00`, UTC.
  case sqlText
  /// A day without a time: `2024-01-31`.
  case day
  /// The number of seconds since 1970.
  case unixSeconds
}

/// A relationship of the entity that lists it.
public struct Relationship: Sendable, Hashable {
  /// The name, unique in the entity.
  public let name: String
  /// The index of the destination entity.
  public let destination: Int
  /// True if the relationship refers to any number of objects, false for at most one.
  public let isToMany: Bool
  /// True if a to-many relationship is ordered, so that `[FIRST]` and `[n]` are defined.
  public let isOrdered: Bool
  /// True if the relationship may refer to no object.
  public let isOptional: Bool
  /// The declaration in the model file; nil without one.
  public let declaration: ModelFile.Relationship?
  /// The index of the inverse among the destination's relationships; nil without one.
  public let inverse: Int?
  /// False for a to-one relationship that refers to other columns than the key, or to equal keys with
  /// other texts: the related id may then change although the row does not.
  public let isStoredAsID: Bool
  /// The name of the relationship's join table if its changes are not recorded; nil otherwise.
  public let unrecordedTable: String?
  /// The columns in which a relationship is stored that was found in the tables, with the name of a
  /// join table: `(team_id)`, `member(team_id, user_id)`. nil for a relationship of a model file.
  package var storage: String?

  /// Makes a relationship.
  public init(
    name: String, destination: Int, isToMany: Bool, isOptional: Bool = true, inverse: Int? = nil,
    isOrdered: Bool = false, isStoredAsID: Bool = true, unrecordedTable: String? = nil,
    declaration: ModelFile.Relationship? = nil
  ) {
    self.isStoredAsID = isStoredAsID
    self.unrecordedTable = unrecordedTable
    self.isOrdered = isOrdered
    self.declaration = declaration
    self.name = name
    self.destination = destination
    self.isToMany = isToMany
    self.isOptional = isOptional
    self.inverse = inverse
  }
}
