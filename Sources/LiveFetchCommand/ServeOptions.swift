// The options of `serve` and `demo`: a flag for each setting → the values of all settings.

import ArgumentParser
import Foundation

/// The options of a server as the command line gives them.
struct ServeOptions: ParsableArguments {
  @Option(
    help: "A JSON file of settings; ./livefetch.json if it exists. [env: LIVEFETCH_CONFIG]",
    completion: .file(extensions: ["json"]))
  var config: String?

  @Option(.host) var host: String?
  @Option(.port) var port: String?
  @Option(.model) var model: String?
  @Option(.publicDirectory) var publicDirectory: String?
  @Option(.token) var token: String?
  @Option(.tokenFile) var tokenFile: String?
  @Option(.jwtKey) var jwtKey: String?
  @Option(.jwksURL) var jwksURL: String?
  @Option(.jwtIssuer) var jwtIssuer: String?
  @Option(.jwtAudience) var jwtAudience: String?
  @Option(.jwtRolesClaim) var jwtRolesClaim: String?
  @Option(.access) var access: String?
  @Flag(.anonymous) var anonymous: Bool?
  @Flag(.insecureOpen) var insecureOpen: Bool?
  @Option(.allowHost) var allowHost: [String] = []
  @Option(.corsOrigin) var corsOrigin: [String] = []
  @Option(.tlsCert) var tlsCert: String?
  @Option(.tlsKey) var tlsKey: String?
  @Option(.trustProxy) var trustProxy: [String] = []
  @Flag(.logRequests) var logRequests: Bool?
  @Option(.logFormat) var logFormat: String?
  @Option(.audit) var audit: String?
  @Option(.limit) var limit: [String] = []
  @Option(.maxItems) var maxItems: String?
  @Option(.queryTimeout) var queryTimeout: String?
  @Option(.maxBody) var maxBody: String?
  @Option(.maxAnswer) var maxAnswer: String?
  @Option(.maxMemoryInFlight) var maxMemoryInFlight: String?
  @Option(.maxLiveMemory) var maxLiveMemory: String?
  @Option(.shutdownTimeout) var shutdownTimeout: String?
  @Option(.durability) var durability: String?
  @Option(.keepHistory) var keepHistory: String?
  @Option(.keepDays) var keepDays: String?
  @Option(.keepIdle) var keepIdle: String?
  @Option(.keepBytes) var keepBytes: String?
  @Option(.backupEvery) var backupEvery: String?
  @Option(.backupTo) var backupTo: String?
  @Option(.keep) var keep: String?
  @Option(.workers) var workers: String?
  @Option(.maxConnections) var maxConnections: String?
  @Option(.maxAddressConnections) var maxAddressConnections: String?
  @Option(.idleTimeout) var idleTimeout: String?
  @Flag(.create) var create: Bool?
  @Flag(.readOnly) var readOnly: Bool?
  @Flag(.explain) var explain: Bool?
  @Flag(.serverTiming) var serverTiming: Bool?

  private var flags: [String: String] {
    let texts: [(Setting, String?)] = [
      (.host, host), (.port, port), (.model, model), (.publicDirectory, publicDirectory),
      (.token, token), (.tokenFile, tokenFile), (.jwtKey, jwtKey), (.jwksURL, jwksURL),
      (.jwtIssuer, jwtIssuer), (.jwtAudience, jwtAudience), (.jwtRolesClaim, jwtRolesClaim),
      (.access, access), (.tlsCert, tlsCert), (.tlsKey, tlsKey), (.logFormat, logFormat),
      (.audit, audit), (.maxItems, maxItems), (.queryTimeout, queryTimeout), (.maxBody, maxBody),
      (.maxAnswer, maxAnswer), (.maxMemoryInFlight, maxMemoryInFlight),
      (.maxLiveMemory, maxLiveMemory), (.shutdownTimeout, shutdownTimeout),
      (.durability, durability), (.keepHistory, keepHistory), (.keepDays, keepDays),
      (.keepBytes, keepBytes), (.keepIdle, keepIdle), (.backupEvery, backupEvery),
      (.backupTo, backupTo), (.keep, keep), (.workers, workers),
      (.maxConnections, maxConnections), (.maxAddressConnections, maxAddressConnections),
      (.idleTimeout, idleTimeout),
    ]
    let lists: [(Setting, [String])] = [
      (.allowHost, allowHost), (.corsOrigin, corsOrigin), (.trustProxy, trustProxy),
      (.limit, limit),
    ]
    let switches: [(Setting, Bool?)] = [
      (.anonymous, anonymous), (.insecureOpen, insecureOpen), (.logRequests, logRequests),
      (.create, create), (.readOnly, readOnly), (.explain, explain), (.serverTiming, serverTiming),
    ]
    var flags: [String: String] = [:]
    for (setting, text) in texts { flags[setting.name] = text }
    // A flag that was not given is no list.
    for (setting, list) in lists where !list.isEmpty {
      flags[setting.name] = list.joined(separator: ",")
    }
    for (setting, isOn) in switches { flags[setting.name] = isOn.map { "\($0)" } }
    return flags
  }

  /// The value of every setting, from all sources.
  func settings() throws -> Settings {
    let environment = ProcessInfo.processInfo.environment
    return try validated {
      try Settings(
        flags: flags, environment: environment,
        file: try ConfigurationFile.read(flag: config, environment: environment))
    }
  }

  /// The settings, checked against each other, with the files that they name.
  func resolved() throws -> ServerOptions {
    var options = try checked()
    try options.readCredentials()
    try options.readModel()
    try options.readCertificate()
    try options.takeListener()
    return options
  }

  /// The settings that take effect on SIGHUP, with their files, as they are now. The other settings stay
  /// those of the running server's `options`.
  func reloaded(_ options: ServerOptions) throws -> ServerOptions {
    let path = ConfigurationFile.usualPath
    // Without it, a server that needed a token would be open.
    if options.settings.isUsing(path) { try requireFile(path) }
    let given = try checked()
    var newer = try validated { try given.reloaded(over: options) }
    try newer.readCredentials()
    newer.inherit(options)
    return newer
  }

  /// The settings, checked against each other.
  func checked() throws -> ServerOptions {
    let settings = try settings()
    return try validated { try ServerOptions(settings) }
  }

  /// Runs `make`. An error of a setting in it becomes one of the command line.
  private func validated<Result>(_ make: () throws -> Result) throws -> Result {
    do {
      return try make()
    } catch let error as SettingError {
      throw ValidationError("\(error)")
    }
  }

  func validate() throws { _ = try checked() }
}
