// What `serve` and `demo` both take: a flag for each setting, and what follows from all of them.

import ArgumentParser
import FetchModel
import Foundation
import HTTPServer
import SQLiteStore
import Service

/// The options of a server as the command line gives them.
struct ServeOptions: ParsableArguments {
  @Option(
    help: "A JSON file of settings; ./livefetch.json if it is there. [env: LIVEFETCH_CONFIG]",
    completion: .file(extensions: ["json"]))
  var config: String?

  @Option(.host) var host: String?
  @Option(.port) var port: String?
  @Option(.model) var model: String?
  @Option(.publicDirectory) var publicDirectory: String?
  @Option(.token) var token: String?
  @Option(.corsOrigin) var corsOrigin: String?
  @Option(.maxItems) var maxItems: String?
  @Option(.queryTimeout) var queryTimeout: String?
  @Option(.maxBody) var maxBody: String?
  @Option(.maxAnswer) var maxAnswer: String?
  @Option(.durability) var durability: String?
  @Option(.keepHistory) var keepHistory: String?
  @Option(.keepDays) var keepDays: String?
  @Option(.keepIdle) var keepIdle: String?
  @Option(.keepBytes) var keepBytes: String?
  @Option(.workers) var workers: String?
  @Flag(.readOnly) var readOnly: Bool?
  @Flag(.explain) var explain: Bool?

  private var flags: [String: String] {
    let texts: [(Setting, String?)] = [
      (.host, host), (.port, port), (.model, model), (.publicDirectory, publicDirectory),
      (.token, token),
      (.corsOrigin, corsOrigin), (.maxItems, maxItems), (.queryTimeout, queryTimeout),
      (.maxBody, maxBody), (.maxAnswer, maxAnswer), (.durability, durability),
      (.keepHistory, keepHistory),
      (.keepDays, keepDays), (.keepBytes, keepBytes), (.keepIdle, keepIdle), (.workers, workers),
      (.readOnly, readOnly.map { "\($0)" }),
      (.explain, explain.map { "\($0)" }),
    ]
    return Dictionary(
      texts.compactMap { setting, text in text.map { (setting.name, $0) } },
      uniquingKeysWith: { _, last in last })
  }

  /// The value of every setting, from all sources.
  func settings() throws -> Settings {
    let environment = ProcessInfo.processInfo.environment
    do {
      return try Settings(
        flags: flags, environment: environment,
        file: try ConfigurationFile.read(flag: config, environment: environment))
    } catch {
      throw ValidationError("\(error)")
    }
  }

  /// The settings, checked against each other.
  func resolved() throws -> ServerOptions { ServerOptions(try settings()) }

  func validate() throws { try resolved().validate() }
}

/// A server's settings as its parts take them.
struct ServerOptions {
  private let settings: Settings

  init(_ settings: Settings) { self.settings = settings }

  var host: String { settings.text(.host) ?? "127.0.0.1" }
  var port: Int { settings.integer(.port) }

  private var bearerToken: String? {
    settings.text(.token).flatMap { $0.isEmpty ? nil : $0 }
  }

  private var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }

  fileprivate func validate() throws {
    guard isLoopback || bearerToken != nil else {
      throw ValidationError(
        "Listening on \(host) needs a token: --token TOKEN or LIVEFETCH_TOKEN in the environment.")
    }
    if let directory = settings.text(.publicDirectory) {
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory),
        isDirectory.boolValue
      else { throw ValidationError("--public: there is no directory '\(directory)'.") }
    }
  }

  var service: ServiceConfiguration {
    var service = ServiceConfiguration()
    service.maxItems = settings.integer(.maxItems)
    service.maxAnswerBytes = settings.integer(.maxAnswer)
    service.idleSeconds = settings.number(.keepIdle)
    service.bearerToken = bearerToken
    service.corsOrigin = settings.text(.corsOrigin)
    service.publicDirectory = settings.text(.publicDirectory)
    service.explains = settings.isOn(.explain)
    return service
  }

  /// The path of the model's file.
  var modelPath: String? { settings.text(.model) }

  /// How the store is served.
  ///
  /// - Parameter model: what the objects are; nil for what the store remembers.
  func store(_ model: ModelFile?) -> SQLiteStoreOptions {
    var store = SQLiteStoreOptions()
    store.model = model
    store.queryTimeout = settings.number(.queryTimeout)
    store.maxAnswerBytes = settings.integer(.maxAnswer)
    store.isReadOnly = settings.isOn(.readOnly)
    store.durability = settings.text(.durability) == "normal" ? .normal : .full
    store.keptPositions = settings.integer(.keepHistory)
    store.keptSeconds = settings.number(.keepDays) * 86_400
    store.keptBytes = settings.integer(.keepBytes)
    return store
  }

  var http: HTTPServerConfiguration {
    var http = HTTPServerConfiguration()
    http.host = host
    http.port = port
    http.workers = settings.integer(.workers)
    http.maxBodyBytes = settings.integer(.maxBody)
    http.renderProblem = { Problem($0).response }
    return http
  }
}
