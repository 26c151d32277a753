// Routes without parameters → complete responses: version, model, API description, metrics, files,
// OPTIONS.

import FetchModel
import LiveFetchHTTPServer

extension Service {
  func planDocument(_ context: RequestContext) throws(Problem) -> Operation {
    switch context.route {
    case .about:
      let token = store.newestToken
      return .response(.json(about(token.tagged(context.tokenTag))), at: token)
    case .model:
      let model = context.access?.model ?? store.model
      return .response(
        .json(ModelDescription(model: model, readOnly: context.access?.readOnly).json))
    case .openAPI: return .response(.json(openAPIDocument(for: context.access)))
    case .options(let allow, let entity):
      return .response(try optionsResponse(allow, entity: entity, context))
    case .liveness, .readiness, .metrics: return .health(context.route)
    default:
      guard var response = fileResponse(to: context.request) else { throw .noSuchPath }
      response.headers += Self.pageHeaders
      return .response(response)
    }
  }

  /// Headers that restrict what a page may do in a browser.
  private static let pageHeaders = [
    (
      name: "Content-Security-Policy",
      value: "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    (name: "Referrer-Policy", value: "no-referrer"),
  ]

  private func openAPIDocument(for access: CallerAccess?) -> [UInt8] {
    let isProtected = authenticator.requiresCredential
    func document(_ model: Model) -> [UInt8] {
      OpenAPIDocument(
        model: model, version: configuration.version, isProtected: isProtected,
        isReadOnly: store.properties.isReadOnly
      ).bytes
    }
    if let access, !access.hidesNothing { return document(access.model) }
    return openAPIDocuments.value(of: isProtected) { document(store.model) }
  }

  /// `GET /v1`.
  private func about(_ token: Token) -> [UInt8] {
    let links: JSONNode = [
      "model": "/v1/model", "objects": "/v1/objects/{Entity}", "fetch": "/v1/fetch",
      "live": "/v1/live", "save": "/v1/save", "changes": "/v1/changes",
      "openapi": "/openapi.json",
    ]
    var members: JSONNode = [
      "name": "LiveFetch", "version": "\(configuration.version)",
      "store": "\(store.properties.kind)",
    ]
    if let name = store.properties.name { members += ["database": "\(name)"] }
    members += [
      "readOnly": JSONNode(.boolean(store.properties.isReadOnly)),
      "sample": JSONNode(.boolean(configuration.servesSample)), "token": "\(token)",
      "links": links,
    ]
    return members.bytes
  }

  /// Returns a file of the public directory, else one that is built into the program or is in the
  /// program's folder.
  func fileResponse(to request: HTTPRequest) -> HTTPResponse? {
    firstFile(request) { files, path in files.response(to: request, path: path) }
  }

  /// True if ``fileResponse(to:)`` finds a file. Reads nothing of it.
  func hasFile(_ request: HTTPRequest) -> Bool {
    firstFile(request) { files, path in files.hasFile(path) ? true : nil } != nil
  }

  /// Returns the first result of `find` in the places of a file.
  private func firstFile<Result>(
    _ request: HTTPRequest, _ find: (StaticFiles, Substring) -> Result?
  ) -> Result? {
    let path = request.path
    if path.hasPrefix("/docs/swift/") {
      return configuration.swiftDocumentation.flatMap {
        find($0, path.dropFirst("/docs/swift".count))
      }
    }
    if let found = files.flatMap({ find($0, path) }) { return found }
    let isLasting =
      Self.lastingFolders.contains { path.hasPrefix($0) } || Self.lastingFiles.contains(path)
    guard files == nil || isLasting else { return nil }
    return configuration.builtInFiles.flatMap { find($0, path) }
  }

  /// The folders of built-in files that a public directory does not replace as a whole.
  private static let lastingFolders = ["/docs/", "/explorer/", "/livefetch/"]

  /// The other built-in files that a public directory replaces only by a file of the same name.
  private static let lastingFiles: Set<Substring> = [
    "/conformance.py", "/icon.svg", "/livefetch.d.ts", "/livefetch.js", "/livefetch.py",
    "/livefetch.tgz", "/model-schema.json", "/openapi.html",
  ]

  /// The methods that a path takes, and for browsers of other origins the headers they may send.
  ///
  /// - Throws: 404 for an unknown entity, if the caller may know the entities.
  private func optionsResponse(
    _ methods: String, entity: String?, _ context: RequestContext
  ) throws(Problem) -> HTTPResponse {
    if context.mayKnowEntities, let entity {
      _ = try entityIndex(named: entity)
    }
    let allow = (name: "Allow", value: methods)
    guard !configuration.corsOrigins.isEmpty,
      context.request.header("Access-Control-Request-Method") != nil
    else { return HTTPResponse(status: 204, headers: [allow]) }
    return HTTPResponse(status: 204, headers: [allow] + CORSOrigins.preflightHeaders(methods))
  }
}
