// A model as its author wrote it, in Core Data's terms, with the rules that every save must
// satisfy. A value type. Reading, checking and writing are in `ModelFile+…`; stores decide on
// tables.

/// Entities with their attributes and relationships, classes of transformable values, and fetch
/// templates.
public struct ModelFile: Sendable, Hashable {
  /// The author's name for this version; free text.
  public var version: String?
  public var entities: [Entity] = []
  public var classes: [Class] = []
  public var fetchTemplates: [FetchTemplate] = []

  public init() {}
}

// MARK: - Entities

extension ModelFile {
  /// An entity. Inherited properties are not repeated.
  public struct Entity: Sendable, Hashable {
    public var name: String
    /// The name of the parent entity; nil without one.
    public var parent: String?
    /// True if only subentities have objects.
    public var isAbstract = false
    public var attributes: [Attribute] = []
    public var relationships: [Relationship] = []
    public var fetchIndexes: [FetchIndex] = []
    /// Each is a list of properties whose combination of values is unique.
    public var uniquenessConstraints: [[String]] = []
    /// The default order of fetches, in the syntax of `sort`; empty for the parent's.
    public var sort: [String] = []
    /// The name in an earlier version, or its renaming identifier.
    public var renamingIdentifier: String?

    public init(name: String) { self.name = name }
  }

  /// The type of an attribute's values. The raw values are Core Data's names.
  public enum AttributeType: String, Sendable, Hashable, CaseIterable {
    case integer16 = "Integer 16"
    case integer32 = "Integer 32"
    case integer64 = "Integer 64"
    case decimal = "Decimal"
    case double = "Double"
    case float = "Float"
    case string = "String"
    case boolean = "Boolean"
    case date = "Date"
    case binary = "Binary"
    case uuid = "UUID"
    case uri = "URI"
    case transformable = "Transformable"
  }

  /// An attribute of an entity.
  public struct Attribute: Sendable, Hashable {
    public var name: String
    public var type: AttributeType
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
    public var renamingIdentifier: String?

    public init(name: String, type: AttributeType) {
      self.name = name
      self.type = type
    }
  }

  /// The effect of an object's deletion on the objects at the other end.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    case nullify = "Nullify"
    case cascade = "Cascade"
    case deny = "Deny"
    case noAction = "No Action"
  }

  /// A relationship of an entity.
  public struct Relationship: Sendable, Hashable {
    public var name: String
    /// The name of the destination entity.
    public var destination: String
    public var isToMany = false
    public var isOrdered = false
    public var isOptional = true
    /// The name of the destination's inverse relationship; nil without one.
    public var inverse: String?
    public var deleteRule = DeleteRule.nullify
    /// For to-many relationships. An optional relationship may be empty regardless.
    public var minimumCount: Int?
    /// For to-many relationships. nil or 0 means no maximum.
    public var maximumCount: Int?
    public var renamingIdentifier: String?

    public init(name: String, destination: String) {
      self.name = name
      self.destination = destination
    }
  }

  /// An index that speeds up fetches.
  public struct FetchIndex: Sendable, Hashable {
    /// A property of an index, with its direction.
    public struct Element: Sendable, Hashable {
      public var property: String
      public var isDescending = false

      public init(property: String) { self.property = property }
    }

    public var name: String
    public var elements: [Element] = []

    public init(name: String) { self.name = name }
  }
}

// MARK: - Classes and templates

extension ModelFile {
  /// A class of transformable values, named by `$class`.
  public struct Class: Sendable, Hashable {
    /// A field of a class.
    public struct Field: Sendable, Hashable {
      public var name: String
      public var type: FieldType
      public var isOptional = true
      /// True if the field is a list of such values.
      public var isList = false

      public init(name: String, type: FieldType) {
        self.name = name
        self.type = type
      }
    }

    public var name: String
    public var parent: String?
    public var isAbstract = false
    public var fields: [Field] = []

    public init(name: String) { self.name = name }
  }

  /// The type of a class's field.
  public enum FieldType: Sendable, Hashable {
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
    public var name: String
    public var entity: String
    /// The predicate, in NSPredicate's format language; nil selects all objects.
    public var predicate: String?
    public var sort: [String] = []
    public var limit: Int?
    /// False excludes objects of subentities.
    public var includesSubentities = true

    public init(name: String, entity: String) {
      self.name = name
      self.entity = entity
    }
  }
}

// MARK: - Problems

/// A problem at one location of a model.
public struct ModelFileProblem: Error, Sendable, Hashable {
  /// `entities/City/attributes/population/minimum`; empty for the whole file.
  public let place: String
  /// A sentence for users.
  public let reason: String

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
  public let problems: [ModelFileProblem]

  public init(_ problems: [ModelFileProblem]) { self.problems = problems }
}

extension ModelFileError: CustomStringConvertible {
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
