// Path and method → the requested operation.
//
// Enters: the raw path and the method. Leaves: a route. Promises: each path segment is decoded once;
// the table in `Resource` is the only place that lists paths and their methods.

import Bytes
import FetchModel

/// A path that the API knows.
enum Resource {
  /// A path that takes only GET.
  case document(Route)
  /// A path that takes only POST.
  case command(Route)
  case entity(String)
  case object(entity: String, id: String)
  case value(entity: String, id: String, attribute: String)

  /// - Parameter target: the raw request target.
  /// - Throws: 404 for an unknown path below `/v1`, 400 for a malformed escape.
  init(target: String) throws(Problem) {
    var target = target
    self = try target.withUTF8 { bytes in
      Result { () throws(Problem) in try Self.resource(at: bytes) }
    }.get()
  }

  /// Every request is routed here, so it reads bytes: with a string's indexes it takes five times as
  /// long.
  private static func resource(at target: UnsafeBufferPointer<UInt8>) throws(Problem) -> Self {
    let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    let path = UnsafeBufferPointer(rebasing: target[..<end])
    guard path.count >= 4, path[0] == UInt8(ascii: "/"), path[1] == UInt8(ascii: "v"),
      path[2] == UInt8(ascii: "1"), path[3] == UInt8(ascii: "/")
    else {
      let text = String(decoding: path, as: UTF8.self)
      return path.contains(UInt8(ascii: "%"))
        ? try resource(atEscaped: text) : .document(document(at: text))
    }
    return try resource(at: PathSegments(UnsafeBufferPointer(rebasing: path[4...])))
  }

  /// - Parameter path: a path with an escape, which may be in its first segment.
  private static func resource(atEscaped path: String) throws(Problem) -> Self {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    // A malformed escape fits no document, like an escaped slash, which separates no segments.
    let decoded = segments.map { PercentEncoding.decode($0, plus: .itself) ?? "/" }
    if segments.count > 2, decoded[0].isEmpty, decoded[1] == "v1" {
      return try Self(target: "/v1/" + segments[2...].joined(separator: "/"))
    }
    guard !decoded.contains(where: { $0.utf8.contains(UInt8(ascii: "/")) }) else {
      return .document(.file)
    }
    return .document(document(at: decoded.joined(separator: "/")))
  }

  private static func document(at path: String) -> Route {
    switch path {
    case "/v1": .about
    case "/openapi.json": .openAPI
    case "/health/live": .liveness
    case "/health/ready": .readiness
    case "/metrics": .metrics
    default: .file
    }
  }

  private static func resource(at path: borrowing PathSegments) throws(Problem) -> Self {
    switch (path.first, path.count) {
    case ("objects", 2): .entity(path.second)
    case ("objects", 3): .object(entity: path.second, id: path.third)
    case ("objects", 4):
      .value(entity: path.second, id: path.third, attribute: path.fourth)
    case ("model", 1): .document(.model)
    case ("fetch", 1): .command(.postedFetch)
    case ("live", 1): .command(.fetchGroup)
    case ("save", 1): .command(.save)
    case ("changes", 1): .document(.changes)
    case ("fetches", 2): .document(.template(name: path.second))
    default: throw .noSuchPath
    }
  }

  /// Returns the operation of a method; nil if the path does not take it. `HEAD` works wherever `GET`
  /// does, and `OPTIONS` everywhere.
  ///
  /// - Parameter allow: the methods in the response to `OPTIONS`.
  func route(_ method: String, allow: @autoclosure () -> String = "") -> Route? {
    let method = method == "HEAD" ? "GET" : method
    if method == "OPTIONS" { return .options(allow: allow(), entity: entity) }
    return switch self {
    case .document(let route): method == "GET" ? route : nil
    case .command(let route): method == "POST" ? route : nil
    case .entity(let entity):
      switch method {
      case "GET": .fetch(entity: entity)
      case "POST": .insert(entity: entity)
      case "PATCH": .batchUpdate(entity: entity)
      case "DELETE": .batchDelete(entity: entity)
      default: nil
      }
    case .object(let entity, let id):
      switch method {
      case "GET": .object(entity: entity, id: id)
      case "PATCH": .change(.update, entity: entity, id: id)
      case "PUT": .change(.replace, entity: entity, id: id)
      case "DELETE": .change(.delete, entity: entity, id: id)
      default: nil
      }
    case .value(let entity, let id, let attribute):
      method == "GET" ? .value(entity: entity, id: id, attribute: attribute) : nil
    }
  }

  /// The methods that the path takes, in the order of `Allow`.
  var allowedMethods: [String] {
    ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"].filter { route($0) != nil }
  }

  /// The methods among them that change nothing.
  var readingMethods: [String] {
    allowedMethods.filter { ["GET", "HEAD", "OPTIONS"].contains($0) }
  }

  /// The entity that the path names.
  var entity: String? {
    switch self {
    case .document, .command: nil
    case .entity(let entity), .object(let entity, _), .value(let entity, _, _): entity
    }
  }

  /// True if the path is none of the API: the path of a file.
  var isFile: Bool {
    if case .document(.file) = self { true } else { false }
  }
}

/// The decoded segments of a path below `/v1`. Not copyable, so that no copy of the texts is made.
private struct PathSegments: ~Copyable {
  /// At least one.
  private(set) var count = 0
  private(set) var first = ""
  private(set) var second = ""
  private(set) var third = ""
  private(set) var fourth = ""

  /// - Parameter path: the part after `/v1/`.
  /// - Throws: 404 for an empty segment, 400 for a malformed escape.
  init(_ path: UnsafeBufferPointer<UInt8>) throws(Problem) {
    var start = 0
    while start <= path.count {
      var end = start
      var isEscaped = false
      while end < path.count, path[end] != UInt8(ascii: "/") {
        isEscaped = isEscaped || path[end] == UInt8(ascii: "%")
        end += 1
      }
      let text = String(decoding: UnsafeBufferPointer(rebasing: path[start..<end]), as: UTF8.self)
      append(isEscaped ? try Self.decode(text) : text)
      // An id may be the empty text.
      guard start < end || (count == 3 && first == "objects") else { throw .noSuchPath }
      start = end + 1
    }
  }

  private mutating func append(_ segment: String) {
    switch count {
    case 0: first = segment
    case 1: second = segment
    case 2: third = segment
    case 3: fourth = segment
    default: break
    }
    count += 1
  }

  private static func decode(_ text: String) throws(Problem) -> String {
    guard let decoded = PercentEncoding.decode(text[...], plus: .itself) else {
      throw .badRequest("malformed-encoding", "The path is not percent-encoded UTF-8.")
    }
    return decoded
  }
}

/// The requested operation.
enum Route: Hashable {
  /// The request was not routed, or its path is unknown.
  case unrouted
  case about, model, openAPI, liveness, readiness, metrics, file
  /// - Parameters:
  ///   - allow: the methods of the path.
  ///   - entity: the entity that the path names.
  case options(allow: String, entity: String?)
  /// `GET /v1/objects/{Entity}`
  case fetch(entity: String)
  /// `POST /v1/fetch`
  case postedFetch
  case template(name: String)
  case object(entity: String, id: String)
  case value(entity: String, id: String, attribute: String)
  /// `POST /v1/live`
  case fetchGroup
  case changes
  /// `POST /v1/save`
  case save
  case insert(entity: String)
  case change(ChangeDraft.Kind, entity: String, id: String)
  case batchUpdate(entity: String)
  case batchDelete(entity: String)

  /// True if the request changes the store.
  var isSave: Bool {
    switch self {
    case .save, .insert, .change, .batchUpdate, .batchDelete: true
    default: false
    }
  }

  /// True if a response may be cached for further requests with the same target.
  var isCached: Bool {
    switch self {
    case .fetch, .template: true
    default: false
    }
  }

  /// The scope that the caller needs; nil if the route is open to everyone. Browsers send OPTIONS
  /// without a credential.
  var scope: Caller.Scopes? {
    switch self {
    case .unrouted, .liveness, .readiness, .file, .options: nil
    case .metrics: .admin
    default: isSave ? .write : .read
    }
  }

  /// The kind under which the metrics count the request.
  var kind: RequestKind {
    switch self {
    case .unrouted: .none
    case .about: .about
    case .model: .model
    case .openAPI: .openapi
    case .liveness, .readiness: .health
    case .metrics: .metrics
    case .file: .file
    case .options: .options
    case .fetch, .postedFetch, .template: .fetch
    case .object: .object
    case .value: .value
    case .fetchGroup: .live
    case .changes: .changes
    case .save: .save
    case .insert, .change: .write
    case .batchUpdate, .batchDelete: .batch
    }
  }
}
