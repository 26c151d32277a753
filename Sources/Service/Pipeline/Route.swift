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
    let segments = try target.withUTF8 { bytes in
      Result { () throws(Problem) in try Self.segments(of: bytes) }
    }.get()
    if let segments {
      self = try Self.resource(at: segments)
    } else {
      self = .document(Self.document(at: target.prefix { $0 != "?" }))
    }
  }

  private static func document(at path: Substring) -> Route {
    switch path {
    case "/v1": .about
    case "/openapi.json": .openAPI
    case "/health/live": .liveness
    case "/health/ready": .readiness
    case "/metrics": .metrics
    default: .file
    }
  }

  private static func resource(at path: [String]) throws(Problem) -> Self {
    switch (path[0], path.count) {
    case ("objects", 2): .entity(path[1])
    case ("objects", 3): .object(entity: path[1], id: path[2])
    case ("objects", 4): .value(entity: path[1], id: path[2], attribute: path[3])
    case ("model", 1): .document(.model)
    case ("fetch", 1): .command(.postedFetch)
    case ("live", 1): .command(.fetchGroup)
    case ("save", 1): .command(.save)
    case ("changes", 1): .document(.changes)
    case ("fetches", 2): .document(.template(name: path[1]))
    default: throw .noSuchPath
    }
  }

  /// Returns the operation of a method; nil if the path does not take it. `HEAD` works wherever `GET`
  /// does, and `OPTIONS` everywhere.
  ///
  /// - Parameter allow: the methods in the response to `OPTIONS`.
  func route(_ method: String, allow: @autoclosure () -> String = "") -> Route? {
    switch (method == "HEAD" ? "GET" : method, self) {
    case ("OPTIONS", _): .options(allow: allow(), entity: entity)
    case ("GET", .document(let route)), ("POST", .command(let route)): route
    case ("GET", .entity(let entity)): .fetch(entity: entity)
    case ("POST", .entity(let entity)): .insert(entity: entity)
    case ("PATCH", .entity(let entity)): .batchUpdate(entity: entity)
    case ("DELETE", .entity(let entity)): .batchDelete(entity: entity)
    case ("GET", .object(let entity, let id)): .object(entity: entity, id: id)
    case ("PATCH", .object(let entity, let id)): .change(.update, entity: entity, id: id)
    case ("PUT", .object(let entity, let id)): .change(.replace, entity: entity, id: id)
    case ("DELETE", .object(let entity, let id)): .change(.delete, entity: entity, id: id)
    case ("GET", .value(let entity, let id, let attribute)):
      .value(entity: entity, id: id, attribute: attribute)
    default: nil
    }
  }

  /// The decoded segments of a path below `/v1`, at least one; nil for another path. Every request is
  /// routed here, so it reads bytes: with a string's indexes it takes five times as long.
  private static func segments(
    of target: UnsafeBufferPointer<UInt8>
  ) throws(Problem) -> [String]? {
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    guard path.starts(with: "/v1/".utf8) else { return nil }
    var segments: [String] = []
    segments.reserveCapacity(4)
    var start = 4
    while start <= path.endIndex {
      let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
      let segment = try decode(path[start..<end])
      // An id may be the empty text.
      guard !segment.isEmpty || (segments.count == 2 && segments[0] == "objects") else {
        throw .noSuchPath
      }
      segments.append(segment)
      start = end + 1
    }
    return segments
  }

  private static func decode(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) throws(Problem) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard bytes.contains(UInt8(ascii: "%")) else { return text }
    guard let decoded = PercentEncoding.decode(text[...], plus: .itself) else {
      throw .badRequest("malformed-encoding", "The path is not percent-encoded UTF-8.")
    }
    return decoded
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
