// Method and path → what is asked for. Paths are matched on the raw target, each segment decoded
// once; what a path takes as methods is told in one place.

import Bytes
import FetchModel

/// Everything that the API has a path for.
enum Route: Hashable {
  case about
  case model
  case objects(entity: String)
  case object(entity: String, id: String)
  case value(entity: String, id: String, attribute: String)
  case fetch
  case live
  case save
  case changes
  case template(name: String)
  case openAPI
  case isLive
  case isReady
  case metrics
  /// Anything else: a file of the public directory.
  case file

  /// The entity that the path names.
  var entity: String? {
    switch self {
    case .objects(let entity), .object(let entity, _), .value(let entity, _, _): entity
    default: nil
    }
  }

  /// The route of a raw path.
  ///
  /// - Throws: a 404 for a path below `/v1` that is none, a 400 for a malformed escape.
  init(path: Substring) throws(Problem) {
    switch path {
    case "/v1": self = .about
    case "/openapi.json": self = .openAPI
    case "/health/live": self = .isLive
    case "/health/ready": self = .isReady
    case "/metrics": self = .metrics
    default:
      guard path.utf8.starts(with: "/v1/".utf8) else {
        self = .file
        return
      }
      try self.init(segments: Self.segments(of: Substring(path.utf8.dropFirst(4))))
    }
  }

  private init(segments: [String]) throws(Problem) {
    switch (segments.first, segments.count) {
    case ("model", 1): self = .model
    case ("fetch", 1): self = .fetch
    case ("live", 1): self = .live
    case ("save", 1): self = .save
    case ("changes", 1): self = .changes
    case ("fetches", 2): self = .template(name: segments[1])
    case ("objects", 2): self = .objects(entity: segments[1])
    case ("objects", 3): self = .object(entity: segments[1], id: segments[2])
    case ("objects", 4):
      self = .value(entity: segments[1], id: segments[2], attribute: segments[3])
    default: throw .noSuchPath
    }
  }

  private static func segments(of path: Substring) throws(Problem) -> [String] {
    var segments: [String] = []
    let slash = UInt8(ascii: "/")
    for part in path.utf8.split(separator: slash, omittingEmptySubsequences: false) {
      guard let segment = PercentEncoding.decode(Substring(part), plus: .itself) else {
        throw .badRequest("malformed-encoding", "The path is not percent-encoded UTF-8.")
      }
      // An id may be the empty text.
      guard !segment.isEmpty || (segments.count == 2 && segments[0] == "objects") else {
        throw .noSuchPath
      }
      segments.append(segment)
    }
    return segments
  }

  /// The methods that the path takes, as `Allow` names them.
  var allowedMethods: [String] {
    switch self {
    case .about, .model, .value, .changes, .template, .openAPI, .isLive, .isReady, .metrics, .file:
      ["GET", "HEAD", "OPTIONS"]
    case .objects: ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"]
    case .object: ["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]
    case .fetch, .live, .save: ["POST", "OPTIONS"]
    }
  }

  /// Whether a request with this method changes the store.
  func saves(_ method: String) -> Bool {
    switch self {
    case .objects, .object: ["POST", "PATCH", "PUT", "DELETE"].contains(method)
    case .save: method == "POST"
    default: false
    }
  }

  /// Whether a request with this method has a JSON body.
  func takesBody(_ method: String) -> Bool { ["POST", "PATCH", "PUT"].contains(method) }

  /// Whether it is answered without a credential.
  var isPublic: Bool {
    switch self {
    case .isLive, .isReady, .file: true
    default: false
    }
  }
}
