// A model as its author wrote it, in Core Data's terms, with the rules that every save must
// satisfy. A value type. Reading, checking and writing are in `ModelFile+…`; the mapping to tables is in
// ModelStorage.

/// Entities with their attributes and relationships, classes of transformable values, and fetch
/// templates.
public struct ModelFile: Sendable, Hashable {
  /// The author's name for this version; free text.
  public var version: String?
  /// True if every caller may use entities without access rules, false if none may; nil if the file does
  /// not say.
  public var allowsByDefault: Bool?
  /// The entities; parents and children in any order.
  public var entities: [Entity] = []
  /// The classes of transformable values.
  public var classes: [Class] = []
  /// The fetches that clients request by name.
  public var fetchTemplates: [FetchTemplate] = []

  /// Makes a model file.
  public init() {}
}

// MARK: - Entities

extension ModelFile {
  /// An entity. Inherited properties are not repeated.
  public struct Entity: Sendable, Hashable {
    /// The name, unique in the model.
    public var name: String
    /// The name of the parent entity; nil without one.
    public var parent: String?
    /// True if only subentities have objects.
    public var isAbstract = false
    /// The attributes that this entity declares.
    public var attributes: [Attribute] = []
    /// The relationships that this entity declares.
    public var relationships: [Relationship] = []
    /// The indexes that the store creates for this entity.
    public var fetchIndexes: [FetchIndex] = []
    /// Each is a list of properties whose combination of values is unique.
    public var uniquenessConstraints: [[String]] = []
    /// The default order of fetches, in the syntax of `sort`; empty for the parent's.
    public var sort: [String] = []
    /// The name in an earlier version, or its renaming identifier.
    public var renamingIdentifier: String?
    /// The access rules.
    public var access: [AccessAction: AccessRule] = [:]

    /// Makes an entity.
    public init(name: String) { self.name = name }
  }

  /// The type of an attribute's values. The raw values are Core Data's names.
  public enum AttributeType: String, Sendable, Hashable, CaseIterable {
    /// A signed integer of 16 bits.
    case integer16 = "Integer 16"
    /// A signed integer of 32 bits.
    case integer32 = "Integer 32"
    /// A signed integer of 64 bits.
    case integer64 = "Integer 64"
    /// A decimal number, as Foundation's `Decimal`.
    case decimal = "Decimal"
    /// A floating-point number of 64 bits.
    case double = "Double"
    /// A floating-point number of 32 bits.
    case float = "Float"
    /// A text.
    case string = "String"
    /// True or false.
    case boolean = "Boolean"
    /// A point in time.
    case date = "Date"
    /// Bytes.
    case binary = "Binary"
    /// A UUID.
    case uuid = "UUID"
    /// A URI, as text.
    case uri = "URI"
    /// A value of a declared class, of a transformer, or any JSON.
    case transformable = "Transformable"
  }

  /// An attribute of an entity.
  public struct Attribute: Sendable, Hashable {
    /// The name, unique among the entity's properties.
    public var name: String
    /// The type of the values.
    public var type: AttributeType
    /// True if the attribute may be nil.
    public var isOptional = true
    /// The default in the JSON that clients write.
    public var defaultValue: JSON?
    /// The smallest allowed value, in the JSON that clients write.
    public var minimum: JSON?
    /// The largest allowed value, in the JSON that clients write.
    public var maximum: JSON?
    /// In UTF-16 code units; in bytes for binary values.
    public var minimumLength: Int?
    /// In UTF-16 code units; in bytes for binary values.
    public var maximumLength: Int?
    /// A regular expression that the whole text must match.
    public var pattern: String?
    /// True for an attribute that is neither stored nor served.
    public var isTransient = false
    /// The source of a derived attribute's value; nil for other attributes.
    public var derivation: Derivation?
    /// For transformable attributes: the name of the transformer; nil means JSON.
    public var transformer: String?
    /// For transformable attributes: the class of the values, or an ancestor of their class.
    public var className: String?
    /// The name in an earlier version, or its renaming identifier; a migration then keeps the
    /// values.
    public var renamingIdentifier: String?
    /// Callers for whom the rule holds do not see the attribute; nil without a rule.
    public var hidden: AccessRule?
    /// Callers for whom the rule holds may not write the attribute; nil without a rule.
    public var readOnly: AccessRule?

    /// Makes an attribute.
    public init(name: String, type: AttributeType) {
      self.name = name
      self.type = type
    }
  }

  /// The effect of an object's deletion on the objects at the other end.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    /// The objects at the other end no longer refer to the deleted one.
    case nullify = "Nullify"
    /// The objects at the other end are deleted too.
    case cascade = "Cascade"
    /// The deletion is refused while there are objects at the other end.
    case deny = "Deny"
    /// The objects at the other end stay unchanged.
    case noAction = "No Action"
  }

  /// A relationship of an entity.
  public struct Relationship: Sendable, Hashable {
    /// The name, unique among the entity's properties.
    public var name: String
    /// The name of the destination entity.
    public var destination: String
    /// True if it refers to any number of objects, false for at most one.
    public var isToMany = false
    /// True if the objects of a to-many relationship have an order, which the store keeps.
    public var isOrdered = false
    /// True if it may refer to no object.
    public var isOptional = true
    /// The name of the destination's inverse relationship; nil without one.
    public var inverse: String?
    /// The effect of deleting this entity's object on the objects that it refers to.
    public var deleteRule = DeleteRule.nullify
    /// For to-many relationships. An optional relationship may be empty regardless.
    public var minimumCount: Int?
    /// For to-many relationships. nil or 0 means no maximum.
    public var maximumCount: Int?
    /// The name in an earlier version, or its renaming identifier; a migration then keeps the
    /// links.
    public var renamingIdentifier: String?

    /// Makes a relationship.
    public init(name: String, destination: String) {
      self.name = name
      self.destination = destination
    }
  }

  /// An index that speeds up fetches.
  public struct FetchIndex: Sendable, Hashable {
    /// A property of an index, with its direction.
    public struct Element: Sendable, Hashable {
      /// The name of an attribute or a to-one relationship.
      public var property: String
      /// True for descending order.
      public var isDescending = false

      /// Makes an element.
      public init(property: String) { self.property = property }
    }

    /// The name, unique in the entity.
    public var name: String
    /// The indexed properties, most significant first.
    public var elements: [Element] = []

    /// Makes a fetch index.
    public init(name: String) { self.name = name }
  }
}

// MARK: - Classes and templates

extension ModelFile {
  /// A class of transformable values, named by `$class`.
  public struct Class: Sendable, Hashable {
    /// A field of a class.
    public struct Field: Sendable, Hashable {
      /// The field's name, which is its key in JSON.
      public var name: String
      /// The type of the field's values.
      public var type: FieldType
      /// True if the field may be missing or null.
      public var isOptional = true
      /// True if the field is a list of such values.
      public var isList = false

      /// Makes a field.
      public init(name: String, type: FieldType) {
        self.name = name
        self.type = type
      }
    }

    /// The name, unique in the model.
    public var name: String
    /// The class whose fields are inherited; nil without one.
    public var parent: String?
    /// True if values must be of a subclass.
    public var isAbstract = false
    /// The fields that this class declares.
    public var fields: [Field] = []

    /// Makes a class.
    public init(name: String) { self.name = name }
  }

  /// The type of a class's field.
  public enum FieldType: Sendable, Hashable {
    /// A value of an attribute's type.
    case value(AttributeType)
    /// `#RRGGBB` or `#RRGGBBAA`.
    case color
    /// An object with any JSON values.
    case dictionary
    /// A value of another declared class, or of one of its subclasses.
    case object(String)
  }

  /// A fetch that clients request by name.
  public struct FetchTemplate: Sendable, Hashable {
    /// The name by which clients request the fetch, unique in the model.
    public var name: String
    /// The name of the entity whose objects are fetched.
    public var entity: String
    /// The predicate, in NSPredicate's format language; nil selects all objects.
    public var predicate: String?
    /// The order, one term of `sort` each; empty for the entity's default order.
    public var sort: [String] = []
    /// The maximum number of objects of a result; nil for no limit of the template's own.
    public var limit: Int?
    /// False excludes objects of subentities.
    public var includesSubentities = true

    /// Makes a fetch template.
    public init(name: String, entity: String) {
      self.name = name
      self.entity = entity
    }
  }
}

extension ModelFile {
  /// What the model adds to fetches: orders, templates and transformers, a list of texts for each. With
  /// others, the same request has another result, so that earlier tokens expire.
  package var fetchDefaults: [[String]] {
    let orders = entities.filter { !$0.sort.isEmpty }.map { ["sort", $0.name] + $0.sort }
    let transformers = entities.flatMap { entity in
      entity.attributes.compactMap { attribute in
        attribute.transformer.map { ["transformer", entity.name, attribute.name, $0] }
      }
    }
    let templates = fetchTemplates.map { template in
      [
        "template", template.name, template.entity, template.predicate ?? "",
        template.limit.map(String.init) ?? "", template.includesSubentities ? "all" : "own",
      ] + template.sort
    }
    return (orders + templates + transformers).sorted { $0.lexicographicallyPrecedes($1) }
  }
}

// MARK: - Problems

/// A problem at one location of a model.
public struct ModelFileProblem: Error, Sendable, Hashable {
  /// `entities/City/attributes/population/minimum`; empty for the whole file.
  public let place: String
  /// A sentence for users.
  public let reason: String

  /// Makes a model file problem.
  public init(_ place: String, _ reason: String) {
    self.place = place
    self.reason = reason
  }
}

extension ModelFileProblem: CustomStringConvertible {
  public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

/// All problems of a model.
public struct ModelFileError: Error, Sendable, Hashable {
  /// The problems; at least one.
  public let problems: [ModelFileProblem]

  /// Makes a model file error.
  public init(_ problems: [ModelFileProblem]) { self.problems = problems }
}

extension ModelFileError: CustomStringConvertible {
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

extension ModelFile.AttributeType {
  /// The widest type of a model for stored values of a type.
  package init(_ type: AttributeType) {
    self =
      switch type {
      case .integer: .integer64
      case .double: .double
      case .decimal: .decimal
      case .string: .string
      case .boolean: .boolean
      case .date: .date
      case .binary: .binary
      case .uuid: .uuid
      case .uri: .uri
      case .json: .transformable
      }
  }
}
