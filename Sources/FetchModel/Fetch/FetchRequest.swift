// A fetch as its client wrote it: names and texts, of which only the form was checked.

/// A fetch request before anything in it was looked up in the model.
public struct FetchRequest: Sendable {
  /// The name of the fetched entity.
  public var entity: String
  /// The text of the condition; nil for every object.
  public var predicate: String?
  /// The arguments of the predicate's placeholders, in order.
  public var arguments: [PredicateArgument] = []
  /// The values of the predicate's variables, by name without `$`.
  public var variables: [String: PredicateArgument] = [:]
  /// The texts of the sort terms.
  public var sort: [String] = []
  /// The text of the term that divides the result into sections.
  public var section: String?
  /// The maximum number of items; nil for no limit.
  public var limit: Int?
  /// The number of items that are skipped.
  public var offset = 0
  /// The cursor after which the window begins.
  public var after: String?
  /// The selected values; nil for the default selection.
  public var select: [String]?
  /// The key paths whose objects the response includes.
  public var expand: [String] = []
  /// The content of the response.
  public var shape = ResultShape.objects
  /// The key paths by which dictionaries are grouped.
  public var group: [String] = []
  /// The text of the condition on groups.
  public var having: String?
  /// True if equal dictionaries are merged into one.
  public var isDistinct = false
  /// True if the response counts the result without its window.
  public var withTotal = false
  /// True if objects of subentities belong to the result; nil if the request does not say it.
  public var subentities: Bool?
  /// True if the response has a digest of the result.
  public var withDigest = false
  /// True if integers beyond ±2^53 are sent as strings.
  public var integersAsStrings = false
  /// The position from which a diff is requested; nil requests a snapshot.
  public var since: Since?
  /// Seconds to hold the request while nothing has changed; nil: the default.
  public var wait: Double?
  /// True if the response explains the fetch instead of executing it.
  public var explains = false

  /// Makes a fetch request.
  public init(entity: String) { self.entity = entity }

  /// The position from which a diff is requested.
  public enum Since: Sendable, Hashable {
    case now
    case token(Token)
  }

  /// The maximum number of sort key paths, without the section's.
  public static let maxSortTerms = 16
  /// The maximum number of columns that `select` names.
  public static let maxSelectedColumns = 256
  /// The maximum number of key paths of `expand`, and of `group`.
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
  /// A value that its parameter does not accept; `detail` names the accepted values.
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
