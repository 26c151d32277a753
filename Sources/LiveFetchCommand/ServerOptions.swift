// The values of the settings, and the files that they name → the configurations of the store, the
// service and the HTTP server.

import ArgumentParser
import FetchModel
import Foundation
import LiveFetchHTTPServer
import PostgresStore
import SQLiteStore
import Service
import WebPage

/// The settings of a server, checked and converted for each of its parts.
struct ServerOptions {
  let settings: Settings
  private let tokenSource: TokenSource
  private var serverToken: String?
  private var jwt: JWTVerifier?
  private let certificateFiles: CertificateFiles?
  private var certificate: TLSCertificate?
  private var audit: AuditLog?
  /// The content of the file with the key of JWTs.
  private var jwtKey: Data?
  private let quotas: Quotas?
  private let trustedProxies: [AddressRange]
  private var access: AccessDeclaration?
  /// The model of `--model`; nil for the one that the store contains, or that its tables imply.
  private(set) var model: ModelFile?
  /// The socket that the service manager has opened; it takes the place of `--host` and `--port`.
  private(set) var inheritedListener: HTTPListener?
  /// The names of the settings that were read again and take effect at the next start only.
  private(set) var changesThatNeedRestart: [String] = []
  /// True if the file is one of the samples.
  var servesSample = false

  /// Finds the errors that are found without reading files.
  ///
  /// - Throws: a `SettingError`. Ends the command if the public directory is missing.
  init(_ settings: Settings) throws {
    self.settings = settings
    tokenSource = try settings.tokenSource()
    certificateFiles = try settings.certificateFiles()
    trustedProxies = try settings.trustedProxies()
    quotas = try settings.quotas()
    try checkHosts()
    try checkOrigins()
    try settings.checkJWT()
    try checkMemory()
    try checkDirectory()
    try checkBackups()
  }

  /// The address to listen on. An IPv6 address may be given in brackets, as in a URL.
  var host: String {
    let host = inheritedListener?.host ?? settings.text(.host) ?? "127.0.0.1"
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.contains(":")
    return isBracketed ? String(host.dropFirst().dropLast()) : host
  }
  var port: Int { settings.integer(.port) }

  /// The names of the settings that SIGHUP reads again, with other values than in `earlier` or with other
  /// contents of the files that they name.
  func changes(since earlier: ServerOptions) -> [String] {
    Setting.all.filter { setting in
      Setting.reloaded.contains(setting)
        && (differs(setting, from: earlier) || fileDiffers(setting, from: earlier))
    }.map(\.name)
  }

  private func differs(_ setting: Setting, from earlier: ServerOptions) -> Bool {
    settings[setting]?.value != earlier.settings[setting]?.value
  }

  /// Returns these settings where SIGHUP reads them again, and those of `running` otherwise.
  func reloaded(over running: ServerOptions) throws -> ServerOptions {
    var options = try ServerOptions(settings.reloaded(over: running.settings))
    options.changesThatNeedRestart = Setting.all.filter {
      !Setting.reloaded.contains($0) && differs($0, from: running)
    }.map(\.name)
    return options
  }

  /// True if the file that a setting names contained something else in `earlier`.
  private func fileDiffers(_ setting: Setting, from earlier: ServerOptions) -> Bool {
    switch setting {
    case .tokenFile: tokenSource.isFile && serverToken != earlier.serverToken
    case .jwtKey: jwtKey != earlier.jwtKey
    case .access: access != earlier.access
    default: false
    }
  }

  /// The scheme of the server's address.
  var scheme: String { certificate == nil ? "http" : "https" }

  /// Reads the certificate again and reopens the audit file.
  func readFilesAgain() {
    if let certificate { certificateFiles?.read(into: certificate) }
    if let audit { settings.reopen(audit) }
  }

  /// Reads the certificate and its key.
  mutating func readCertificate() throws { certificate = try certificateFiles?.certificate() }

  /// Reads the files of the token, of the key of JWTs and of the access rules, each once. Later
  /// reloads compare the files with these values, which are in use.
  mutating func readCredentials() throws {
    if tokenSource.isFile { try settings.checkFile(of: .tokenFile, holding: "the token") }
    try settings.checkFile(of: .jwtKey, holding: "the key")
    serverToken = try tokenSource.token()
    jwtKey = try settings.jwtKey()
    jwt = try settings.jwtVerifier(key: jwtKey)
    access = try settings.text(.access).map { try AccessDeclaration(atPath: $0) }
  }

  /// Reads the model. A running server keeps it.
  mutating func readModel() throws {
    model = try settings.text(.model).map { try ModelFile(anyFormatAtPath: $0) }
  }

  /// Copies the socket, the certificate, the audit file and the model of the running server.
  mutating func inherit(_ running: ServerOptions) {
    model = running.model
    inheritedListener = running.inheritedListener
    certificate = running.certificate
    audit = running.audit
    servesSample = running.servesSample
  }

  /// Takes the socket of the service manager, whose address decides on ``checkAccess(to:)``.
  mutating func takeListener() throws {
    inheritedListener = try ServiceManager.listener()
  }

  /// The name of `anonymous` where it is switched on; nil if it is off.
  private var anonymousName: String? {
    guard settings.isOn(.anonymous) else { return nil }
    return settings[.anonymous]?.origin.name(of: .anonymous)
  }

  /// Ends the command if the access rules, of the file or of the model, or the model's fetch templates
  /// do not fit the store, or if `anonymous` is on and there are no rules.
  func checkRules(of model: Model, path: String) throws {
    let rules = access ?? model.file.flatMap { AccessDeclaration($0) }
    if rules == nil, let name = anonymousName {
      throw failure(
        "\(name) needs access rules: --access FILE, or `access` in the model. Without them everyone could read and change everything.",
        .usage)
    }
    try rules?.checked(model, file: settings.text(.access) ?? path)
    let problems = FetchResolver(model: model, maxItems: 1).templateProblems
    guard problems.isEmpty else {
      throw ModelFileError(problems).failure(settings.text(.model) ?? path)
    }
  }

  /// Refuses to serve everyone on an address that is not loopback, `anonymous` without a way to
  /// authenticate, and to serve the server's own files below
  /// `--public`.
  ///
  /// - Parameters:
  ///   - store: The file or database, whose API keys count. A file does not have to exist.
  ///   - listening: The address at which the server listens already; nil for that of the settings.
  func checkAccess(to store: String, at listening: String? = nil) throws {
    try checkPublicFiles(DatabaseTarget(store) == nil ? store : nil)
    let host = listening ?? host
    guard serverToken == nil, jwt == nil else { return }
    let isOpenRefused = !HostNames.isLoopback(host) && !settings.isOn(.insecureOpen)
    guard isOpenRefused || anonymousName != nil else { return }
    guard try StoreLocation(store).apiKeys().isEmpty else { return }
    if let name = anonymousName {
      throw failure(
        """
        \(name) needs a way to authenticate: --token-file FILE, LIVEFETCH_TOKEN in the environment, \
        --jwt-key FILE, --jwks-url URL, or an API key made by `livefetch key create`. A server \
        without one serves everyone.
        """, .usage)
    }
    throw failure(
      """
      Listening on \(host) needs a way to authenticate: --token-file FILE, LIVEFETCH_TOKEN in the \
      environment, --jwt-key FILE, --jwks-url URL, or an API key made by `livefetch key create`; \
      --insecure-open serves everyone.
      """, .usage)
  }

  /// Ends the command if everyone could download a file of the server's own.
  ///
  /// - Parameter store: The served file; nil for a database.
  private func checkPublicFiles(_ store: String?) throws {
    guard let directory = settings.text(.publicDirectory) else { return }
    let path = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    let folder = path == "/" ? path : path + "/"
    for file in [store].compactMap({ $0 }) + namedFiles {
      let url = URL(fileURLWithPath: file)
      // The file itself does not have to exist.
      let place = url.deletingLastPathComponent().resolvingSymlinksInPath()
        .appendingPathComponent(url.lastPathComponent)
      guard [place, place.resolvingSymlinksInPath()].contains(where: { $0.path.hasPrefix(folder) })
      else { continue }
      throw failure(
        "\(file) is below --public \(directory), whose files everyone can read: move it, or serve another directory",
        .usage)
    }
  }

  /// The files that the settings name, the file of settings among them.
  private var namedFiles: [String] {
    let named = [Setting.model, .tokenFile, .jwtKey, .access, .tlsKey, .audit, .backupTo]
    return ([settings.file] + named.map { settings.text($0) }).compactMap { $0 }
  }

  /// Opens the audit file. Ends the command if it cannot be written.
  mutating func openAudit() throws { audit = try settings.auditLog() }

  /// Warnings to print when the server starts.
  var warnings: [String] {
    guard settings[.token]?.origin == .flag else { return [] }
    return [
      "--token shows in the list of processes; --token-file FILE or LIVEFETCH_TOKEN does not"
    ]
  }

  private func checkHosts() throws(SettingError) {
    for name in settings.texts(.allowHost) where !HostNames.isName(name) {
      throw SettingError("--allow-host takes a host name without a port, not '\(name)'")
    }
  }

  private func checkOrigins() throws(SettingError) {
    for origin in settings.texts(.corsOrigin)
    where origin != "*" && !WebOrigin.isSerialized(origin) {
      throw SettingError(
        """
        --cors-origin takes `*` or an origin as browsers send it, https://app.example or \
        http://localhost:3000: a scheme, a name in lower case, a port unless it is the scheme's \
        own, and no path, not '\(origin)'
        """)
    }
  }

  private func checkMemory() throws(SettingError) {
    guard settings.integer(.maxMemoryInFlight) >= settings.integer(.maxBody) else {
      throw SettingError("--max-memory-in-flight must be at least --max-body")
    }
  }

  /// Ends the command if the public directory does not exist.
  private func checkDirectory() throws {
    guard let directory = settings.text(.publicDirectory) else { return }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory),
      isDirectory.boolValue
    else { throw failure("\(directory): there is no such directory", .noInput) }
  }

  private func checkBackups() throws(SettingError) {
    guard settings[.backupEvery] == nil else { return }
    for setting in [Setting.backupTo, .keep] where settings[setting]?.origin == .flag {
      throw SettingError("--\(setting.name) needs --backup-every")
    }
  }

  /// The backups to make of the file at `path` while it is served; nil for none.
  func backups(of path: String, _ metrics: ServiceMetrics) -> ScheduledBackups? {
    guard settings[.backupEvery] != nil else { return nil }
    return ScheduledBackups(
      of: path, to: settings.text(.backupTo), every: settings.number(.backupEvery),
      keeping: settings.integer(.keep), metrics)
  }

  /// The host names that requests may name; nil: any. Loopback's own are always among them: no
  /// page of another site has such a name.
  private var hostNames: HostNames? {
    let allowed = settings.texts(.allowHost)
    guard HostNames.isLoopback(host) || !allowed.isEmpty else { return nil }
    return HostNames(HostNames.loopback + [host] + allowed)
  }

  /// The files of the web page, with the npm package that is made of them.
  private static let builtInFiles: [String: [UInt8]] = {
    var files = WebPage.files
    files[NPMPackage.path] = NPMPackage.archive(of: files)
    return files
  }()

  func service(of store: StoreLocation) -> ServiceConfiguration {
    var service = ServiceConfiguration()
    service.maxItems = settings.integer(.maxItems)
    service.maxResponseBytes = settings.integer(.maxAnswer)
    service.queryTimeout = settings.number(.queryTimeout)
    service.idleSeconds = settings.number(.keepIdle)
    service.engine.maxBytes = settings.integer(.maxLiveMemory)
    service.bearerToken = serverToken
    service.jwt = jwt
    service.errorLogger = settings.errorLogger
    service.requestLogger = settings.requestLogger
    service.audit = audit
    service.quotas = quotas
    service.access = access
    service.servesAnonymous = settings.isOn(.anonymous)
    service.corsOrigins = settings.texts(.corsOrigin)
    service.publicDirectory = settings.text(.publicDirectory)
    let path = store.path.map { realPath($0) ?? $0 }
    service.ownFiles =
      namedFiles + (path.map { path in ["", "-wal", "-shm", "-journal"].map { path + $0 } } ?? [])
    service.builtInFiles = StaticFiles(contents: Self.builtInFiles)
    // Releases have the documentation of the Swift packages beside the program.
    service.swiftDocumentation = StaticFiles(
      directory: Bundle.main.bundlePath + "/swift-documentation")
    service.servesSample = servesSample
    service.explains = settings.isOn(.explain)
    service.sendsServerTiming = settings.isOn(.serverTiming)
    return service
  }

  /// The time limit for shutting down, in seconds.
  var shutdownTimeout: Double { settings.number(.shutdownTimeout) }

  /// True if requests need the server's token.
  var needsToken: Bool { serverToken != nil }

  var isReadOnly: Bool { settings.isOn(.readOnly) }

  /// True if a missing file is created even without a model.
  var createsFile: Bool { settings.isOn(.create) }

  /// The configuration of a store on a file.
  var store: SQLiteStoreOptions {
    var store = SQLiteStoreOptions()
    store.model = model
    store.queryTimeout = settings.number(.queryTimeout)
    store.maxResponseBytes = settings.integer(.maxAnswer)
    store.isReadOnly = isReadOnly
    store.isOnlyServer = true
    store.acceptsEmptyFile = false
    store.durability = settings.text(.durability) == "normal" ? .normal : .full
    store.keptPositions = settings.integer(.keepHistory)
    store.keptSeconds = settings.number(.keepDays) * 86_400
    store.keptBytes = settings.integer(.keepBytes)
    return store
  }

  /// Ends the command if an option makes no sense for a PostgreSQL database.
  func checkDatabase() throws {
    let refused: [Setting] = [
      .create, .durability, .keepHistory, .keepBytes, .backupEvery,
    ]
    for setting in refused {
      // The file that `livefetch config` prints contains the defaults.
      guard let entry = settings[setting], entry.value != setting.defaultValue else { continue }
      throw failure(
        """
        \(entry.origin.name(of: setting)) concerns SQLite files; a PostgreSQL database takes no such \
        option
        """, .usage)
    }
  }

  /// The configuration of a store on a PostgreSQL database.
  var database: PostgresStoreOptions {
    var store = PostgresStoreOptions()
    store.model = model
    store.queryTimeout = settings.number(.queryTimeout)
    store.maxResponseBytes = settings.integer(.maxAnswer)
    store.isReadOnly = isReadOnly
    store.keptSeconds = settings.number(.keepDays) * 86_400
    return store
  }

  /// The HTTP server's configuration.
  var http: HTTPServerConfiguration {
    var http = HTTPServerConfiguration()
    http.host = host
    http.port = port
    http.workers = settings.integer(.workers)
    http.maxConnections = settings.integer(.maxConnections)
    if settings[.maxAddressConnections] != nil {
      http.maxAddressConnections = settings.integer(.maxAddressConnections)
    }
    http.idleTimeout = settings.integer(.idleTimeout)
    http.maxBodyBytes = settings.integer(.maxBody)
    http.hostNames = hostNames
    http.certificate = certificate
    http.reportsCompletions = settings.isOn(.logRequests)
    http.trustedProxies = trustedProxies
    http.maxMemoryInFlight = settings.integer(.maxMemoryInFlight)
    let logger = settings.errorLogger
    http.renderProblem = { Problem.response(to: $0, logger) }
    return http
  }
}
