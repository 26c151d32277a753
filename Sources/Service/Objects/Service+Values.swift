// `GET` and `HEAD` of one attribute of an object → its bytes, or a range of them, with their media type and
// entity tag. NULL is 204; an object that does not exist, or that the caller may not read, is 404.

import FetchModel
import LiveFetchHTTPServer

/// An attribute of an object to read.
struct ValueQuery: Sendable {
  let id: ObjectID
  let entity: Int
  let attribute: Int
  /// The plan that contains the object if access rules permit the caller to read it; nil without rules.
  let accessPlan: FetchPlan?
}

extension Service {
  func planValue(
    _ target: ObjectTarget, attribute name: String, _ access: CallerAccess?
  ) throws(Problem) -> Operation {
    let entity = (access?.model ?? store.model).entities[target.entity]
    guard case .attribute(let index)? = entity.property(named: name) else {
      throw .notFound(
        "unknown-attribute", "`\(entity.name)` has no attribute `\(name)`.",
        hint: nearestName(to: name, among: entity.attributeNames))
    }
    guard let id = target.id else { throw Self.noSuchObject }
    let accessPlan = FetchPlan(
      definition: ResultDefinition(entity: target.entity, predicate: .everything)
    ).restricted(by: access)
    return .value(
      ValueQuery(
        id: id, entity: target.entity, attribute: index,
        accessPlan: accessPlan.definition.access == nil ? nil : accessPlan))
  }

  func queryValue(_ query: ValueQuery, _ context: RequestContext) {
    context.query { [store] queryClass throws(StoreError) in
      try store.rawValue(
        of: query.id, entity: query.entity, attribute: query.attribute, within: query.accessPlan,
        queryClass: queryClass)
    } then: { value throws(Problem) in
      guard let value else { throw Self.noSuchObject }
      try context.respond(with: value)
    }
  }
}

extension RequestContext {
  fileprivate func respond(with value: RawValue) throws(Problem) {
    guard let bytes = value.bytes else {
      return respond(HTTPResponse(status: 204, headers: [("Cache-Control", "no-store")]))
    }
    // A text and a binary value with the same bytes differ in Content-Type, so their tags differ.
    let etag = EntityTag.strong(bytes, suffix: value.type == .string ? "-text" : "")
    var headers = [
      (name: "Content-Type", value: value.contentType),
      (name: "Cache-Control", value: "no-cache"),
      (name: "Accept-Ranges", value: "bytes"),
      (name: "ETag", value: etag),
    ]
    if request.ifNoneMatchContains(etag) {
      return respond(HTTPResponse(status: 304, headers: headers))
    }
    let isCurrent = request.header("If-Range").map { $0 == etag } ?? true
    // RFC 9110, section 14.2, defines ranges for GET only.
    let header = isCurrent && request.method == "GET" ? request.header("Range") : nil
    let range = ByteRange(header, count: bytes.count)
    if let place = range.contentRange(count: bytes.count) {
      headers.append(("Content-Range", place))
    }
    switch range {
    case .whole: respond(HTTPResponse(headers: headers, body: .bytes(bytes)))
    case .part(let part):
      respond(HTTPResponse(status: 206, headers: headers, body: .bytes(Array(bytes[part]))))
    case .unsatisfiable:
      var problem = Problem(
        416, "range-not-satisfiable", "Range not satisfiable",
        "The value has \(bytes.count) bytes.")
      problem.headers = headers.filter { $0.name == "Content-Range" }
      throw problem
    }
  }
}

extension RawValue {
  /// The media type: by the attribute's type; for binary values by their first bytes.
  fileprivate var contentType: String {
    switch type {
    case .binary: Self.imageType(bytes ?? []) ?? "application/octet-stream"
    case .json: "application/json"
    default: "text/plain; charset=utf-8"
    }
  }

  private static func imageType(_ bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: Array("GIF8".utf8)) { return "image/gif" }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
      return "image/webp"
    }
    return nil
  }
}
