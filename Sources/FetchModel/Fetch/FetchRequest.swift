// A fetch as its client wrote it: names and texts, checked for their form alone.

/// A fetch request before anything in it was looked up in the model.
public struct FetchRequest: Sendable {
  public var entity: String
  public var predicate: String?
  public var arguments: [PredicateArgument] = []
  public var variables: [String: PredicateArgument] = [:]
  public var sort: [String] = []
  public var section: String?
  public var limit: Int?
  public var offset = 0
  public var after: String?
  public var select: [String]?
  public var expand: [String] = []
  public var shape = ResultShape.objects
  public var group: [String] = []
  public var having: String?
  public var isDistinct = false
  public var withTotal = false
  public var withSubentities = true
  public var withDigest = false
  public var integersAsStrings = false
  public var since: Since?
  /// Seconds to hold the request while nothing has changed; nil: the default.
  public var wait: Double?
  public var explains = false

  public init(entity: String) { self.entity = entity }

  /// From when a diff is asked for.
  public enum Since: Sendable, Hashable {
    case now
    case token(Token)
  }

  /// The most sort key paths, without the section's.
  public static let maxSortTerms = 16
  /// The most columns that `select` names.
  public static let maxSelectedColumns = 256
  /// The most key paths of `expand`, and of `group`.
  public static let maxRelatedPaths = 64

  /// The longest a request is held, in seconds.
  public static let longestWait = 60.0
}

/// Why a fetch request is refused.
public enum FetchRequestError: Error, Sendable, Hashable {
  case unknownParameter(name: String, hint: String?)
  case repeatedParameter(name: String)
  /// More terms than the list takes.
  case tooManyTerms(parameter: String, limit: Int)
  /// A value that its parameter does not take; `detail` says what it takes.
  case badValue(parameter: String, detail: String)
  case badToken
  case badCursor
  case malformedEncoding(detail: String)
  case unknownEntity(name: String, hint: String?)
  case unknownKeyPath(parameter: String, error: KeyPathError)
  case predicate(parameter: String, error: PredicateError)
  /// Something that the language has and this server does not do yet.
  case notImplemented(feature: String)
}
