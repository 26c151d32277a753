// A model as its author wrote it, in Core Data's terms: the rules that no client can break. A pure
// value; reading, checking and writing are in `ModelFile+…`. How it lies in tables is a store's.

/// Entities with their attributes and relationships, classes of transformable values, and fetch
/// templates.
public struct ModelFile: Sendable, Hashable {
  /// What its author calls this version; free text.
  public var version: String?
  public var entities: [Entity] = []
  public var classes: [Class] = []
  public var fetchTemplates: [FetchTemplate] = []

  public init() {}
}

// MARK: - Entities

extension ModelFile {
  /// One entity. What it inherits is not repeated in it.
  public struct Entity: Sendable, Hashable {
    public var name: String
    public var parent: String?
    /// Whether only its subentities have objects.
    public var isAbstract = false
    public var attributes: [Attribute] = []
    public var relationships: [Relationship] = []
    public var fetchIndexes: [FetchIndex] = []
    /// Each a list of properties whose values together stand once.
    public var uniquenessConstraints: [[String]] = []
    /// The order of fetches that name none, as `sort` writes it; empty: the parent's.
    public var sort: [String] = []
    /// What an earlier version may call it.
    public var renamingIdentifier: String?

    public init(name: String) { self.name = name }
  }

  /// What the values of an attribute are; the raw values are Core Data's.
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

  public struct Attribute: Sendable, Hashable {
    public var name: String
    public var type: AttributeType
    public var isOptional = true
    /// As clients write such a value.
    public var defaultValue: JSON?
    public var minimum: JSON?
    public var maximum: JSON?
    /// In UTF-16 code units, or bytes of binary values.
    public var minimumLength: Int?
    public var maximumLength: Int?
    /// What the whole text matches.
    public var pattern: String?
    /// Not stored, so not served.
    public var isTransient = false
    public var derivation: Derivation?
    /// Of transformable attributes: how values are stored; nil is JSON.
    public var transformer: String?
    /// Of transformable attributes: the class that values are of, or of a subclass of.
    public var className: String?
    public var renamingIdentifier: String?

    public init(name: String, type: AttributeType) {
      self.name = name
      self.type = type
    }
  }

  /// What happens to the objects at the other end when an object is deleted.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    case nullify = "Nullify"
    case cascade = "Cascade"
    case deny = "Deny"
    case noAction = "No Action"
  }

  public struct Relationship: Sendable, Hashable {
    public var name: String
    public var destination: String
    public var isToMany = false
    public var isOrdered = false
    public var isOptional = true
    public var inverse: String?
    public var deleteRule = DeleteRule.nullify
    /// Of to-many relationships. An optional one may be empty all the same.
    public var minimumCount: Int?
    public var maximumCount: Int?
    public var renamingIdentifier: String?

    public init(name: String, destination: String) {
      self.name = name
      self.destination = destination
    }
  }

  /// An index that makes fetches fast.
  public struct FetchIndex: Sendable, Hashable {
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
  /// A class of transformable values: what may stand under `$class`.
  public struct Class: Sendable, Hashable {
    public struct Field: Sendable, Hashable {
      public var name: String
      public var type: FieldType
      public var isOptional = true
      /// Whether it holds a list of such values.
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

  /// What a field of a class holds.
  public enum FieldType: Sendable, Hashable {
    case value(AttributeType)
    /// `#RRGGBB` or `#RRGGBBAA`.
    case color
    /// Text → values of any JSON.
    case dictionary
    /// A value of another declared class, or of a subclass of it.
    case object(String)
  }

  /// A fetch that clients call by its name.
  public struct FetchTemplate: Sendable, Hashable {
    public var name: String
    public var entity: String
    public var predicate: String?
    public var sort: [String] = []
    public var limit: Int?
    /// false leaves subentities out.
    public var includesSubentities = true

    public init(name: String, entity: String) {
      self.name = name
      self.entity = entity
    }
  }
}

// MARK: - Problems

/// What is wrong at one place of a model.
public struct ModelFileProblem: Error, Sendable, Hashable {
  /// `entities/City/attributes/population/minimum`; empty for the whole file.
  public let place: String
  public let reason: String

  public init(_ place: String, _ reason: String) {
    self.place = place
    self.reason = reason
  }
}

extension ModelFileProblem: CustomStringConvertible {
  public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}

/// Everything that is wrong with a model.
public struct ModelFileError: Error, Sendable, Hashable {
  public let problems: [ModelFileProblem]

  public init(_ problems: [ModelFileProblem]) { self.problems = problems }
}

extension ModelFileError: CustomStringConvertible {
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}
