// Why a save was refused. Nothing of it is in the store then.

/// Everything that can refuse a save.
public enum SaveError: Error, Sendable, Hashable {
  /// The body has not the form of a save (400).
  case malformed(String)
  /// The `where` of a batch among the changes is refused (400).
  case condition(FetchRequestError)
  /// What the changes say is wrong in itself, every failure of it (422).
  case invalid([ChangeProblem])
  /// What the changes say collides with what is stored, every failure of it (409).
  case conflicts([ChangeProblem])
  /// The object of a single-object request is not as it was expected (412).
  case preconditionFailed(ChangeProblem)
  /// There is no such object, or none any more (404).
  case notFound([ChangeProblem])
  /// A batch would touch more objects than its limit (`max-affected`).
  case tooManyAffected(limit: Int)
  /// The key of a save that is made once was used for another one before (422).
  case keyReused
  /// The store could not do it.
  case store(StoreError)
}

/// What is wrong with one property of one change.
public struct ChangeProblem: Sendable, Hashable {
  public enum Code: String, Sendable, Hashable, CaseIterable {
    // The change itself
    case unknownEntity = "unknown-entity"
    case readOnlyEntity = "read-only-entity"
    case unknownProperty = "unknown-property"
    case notWritable = "not-writable"
    case wrongType = "wrong-type"
    case outOfRange = "out-of-range"
    /// nil where the property is not optional.
    case notOptional = "not-optional"
    /// An insert left it out, and it has no default.
    case missing = "missing"
    case unknownTemporaryID = "unknown-temporary-id"
    case repeatedTemporaryID = "repeated-temporary-id"
    /// A temporary id of another entity than the relationship leads to.
    case wrongEntity = "wrong-entity"
    /// Inserts that need each other's ids before either has one.
    case circularReference = "circular-reference"
    /// An insert of an entity that only has subentities' objects.
    case abstractEntity = "abstract-entity"
    case tooSmall = "too-small"
    case tooLarge = "too-large"
    case tooShort = "too-short"
    case tooLong = "too-long"
    case patternMismatch = "pattern-mismatch"
    /// A transformable value that no declared class makes.
    case invalidValue = "invalid-value"
    /// Fewer or more objects than a to-many relationship has to have.
    case tooFew = "too-few"
    case tooMany = "too-many"
    /// A `CHECK` of the table.
    case checkFailed = "check-failed"

    // Against what is stored
    case notUnique = "not-unique"
    /// A relationship to an object that does not exist.
    case noSuchObject = "no-such-object"
    /// A delete of an object that others refer to.
    case stillReferenced = "still-referenced"
    /// Another save changed it since.
    case changed = "changed"
    /// A trigger of the table refused it.
    case refused = "refused"
  }

  /// The index of the change.
  public var change: Int
  /// The property's name; nil where the whole change is meant.
  public var property: String?
  public var code: Code
  /// A sentence for people; holds no value of the store's.
  public var detail: String
  /// The nearest name for a misspelt one.
  public var hint: String?
  /// What the store holds, as JSON: of a conflict.
  public var stored: [UInt8]?
  /// What the save wanted, as JSON: of a conflict.
  public var given: [UInt8]?

  public init(
    change: Int, property: String? = nil, code: Code, detail: String, hint: String? = nil,
    stored: [UInt8]? = nil, given: [UInt8]? = nil
  ) {
    self.change = change
    self.property = property
    self.code = code
    self.detail = detail
    self.hint = hint
    self.stored = stored
    self.given = given
  }
}
