// The reasons for which a save is refused. A refused save stores nothing.

/// The reason for which a save is refused.
public enum SaveError: Error, Sendable, Hashable {
  /// The body is not a valid save request (400).
  case malformed(String)
  /// The `where` of a batch among the changes is refused (400).
  case condition(FetchRequestError)
  /// The changes are invalid; lists every failure (422).
  case invalid([ChangeProblem])
  /// The changes conflict with stored data; lists every failure (409).
  case conflicts([ChangeProblem])
  /// The access rules refuse changes; lists every one (403).
  case forbidden([ChangeProblem])
  /// The object of a single-object request is not in the expected state (412).
  case preconditionFailed(ChangeProblem)
  /// The object does not exist (404).
  case notFound([ChangeProblem])
  /// The save would change more objects than its limit (`max-affected`).
  case tooManyAffected(limit: Int)
  /// The idempotency key was used for a different save before (422).
  case keyReused
  /// The store failed.
  case store(StoreError)
}

/// A problem with one property of one change.
public struct ChangeProblem: Sendable, Hashable {
  /// Stable codes of problems, as clients receive them.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    // Problems of the change itself
    case unknownEntity = "unknown-entity"
    case readOnlyEntity = "read-only-entity"
    case unknownProperty = "unknown-property"
    case notWritable = "not-writable"
    case wrongType = "wrong-type"
    case outOfRange = "out-of-range"
    /// nil for a required property.
    case notOptional = "not-optional"
    /// An insert omits a property without a default.
    case missing = "missing"
    case unknownTemporaryID = "unknown-temporary-id"
    case repeatedTemporaryID = "repeated-temporary-id"
    /// A temporary id of another entity than the relationship's destination.
    case wrongEntity = "wrong-entity"
    /// Inserts that need each other's ids first.
    case circularReference = "circular-reference"
    /// An insert of an abstract entity.
    case abstractEntity = "abstract-entity"
    case tooSmall = "too-small"
    case tooLarge = "too-large"
    case tooShort = "too-short"
    case tooLong = "too-long"
    case patternMismatch = "pattern-mismatch"
    /// A transformable value that is not valid for any declared class.
    case invalidValue = "invalid-value"
    /// A to-many relationship has fewer or more objects than allowed.
    case tooFew = "too-few"
    case tooMany = "too-many"
    /// A `CHECK` constraint of the table.
    case checkFailed = "check-failed"

    // Conflicts with stored data
    case notUnique = "not-unique"
    /// A relationship to an object that does not exist.
    case noSuchObject = "no-such-object"
    /// A delete of an object that other objects refer to.
    case stillReferenced = "still-referenced"
    /// Another save changed the object since.
    case changed = "changed"
    /// A trigger of the table refused the change.
    case refused = "refused"
    /// The access rules do not let the caller make the change.
    case forbidden = "forbidden"
  }

  /// The index of the change.
  public var change: Int
  /// The entity's name, for changes that the access rules refuse; nil for other problems.
  public var entity: String?
  /// The property's name; nil for the whole change.
  public var property: String?
  /// The stable code of the problem, as clients receive it.
  public var code: Code
  /// A sentence for users; contains no stored value.
  public var detail: String
  /// The most similar name for a misspelt one.
  public var hint: String?
  /// For a conflict: the stored value as JSON.
  public var stored: [UInt8]?
  /// For a conflict: the value of the save as JSON.
  public var given: [UInt8]?

  /// Makes a change problem.
  public init(
    change: Int, property: String? = nil, code: Code, detail: String, hint: String? = nil,
    stored: [UInt8]? = nil, given: [UInt8]? = nil
  ) {
    self.change = change
    self.property = property?.shortened
    self.code = code
    self.detail = detail.shortened
    self.hint = hint
    self.stored = stored
    self.given = given
  }
}

extension ChangeProblem {
  /// The detail of a problem with an attribute that the caller does not see.
  public static let detailOfHidden =
    "a rule for values that the caller does not see does not allow the change"

  /// The detail of an insert of an abstract entity.
  package static func detailOfAbstract(_ entity: Entity) -> String {
    "`\(entity.name)` is abstract: insert an object of one of its subentities"
  }
}
