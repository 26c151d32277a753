// A fetch of a file or of a server → snapshots as JSON, and notifications of changes.

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import HTTPClient
import SQLiteStore
import Service

/// A source of snapshots for `livefetch fetch`.
protocol FetchSource: AnyObject {
  /// Returns the current result in the API's JSON.
  func snapshot() throws -> JSON
  /// Waits for a change until the source's own time limit, at most about 25 seconds. Returns the
  /// current result, which may equal the previous one, or nil if nothing has changed.
  ///
  /// - Throws: ``ServerUnavailable`` if a server does not respond at present. The next call waits a while
  ///   and continues from the same token.
  func nextResult() throws -> JSON?
  /// Returns the columns of objects or dictionaries, for a result without items.
  ///
  /// - Parameter keys: The keys of dictionaries as the arguments give them, empty without any; nil for objects.
  func columns(of fetch: FetchArguments, keys: [String]?) throws -> [String]
}

/// The server does not respond, or responds with a transient error.
struct ServerUnavailable: Error {
  /// For a person.
  let reason: String
}

/// A fetch of an SQLite file or a PostgreSQL database, without a server of LiveFetch.
final class StoreFetch: FetchSource {
  /// Microseconds between two checks of the file.
  private static let pause: UInt32 = 100_000
  /// The number of checks of one call.
  private static let checks = 50
  /// Microseconds between two fetches of a PostgreSQL database. Only a server listens for commits;
  /// without one the fetch is repeated.
  private static let databasePause: UInt32 = 1_000_000

  private let store: any ReopenableStore
  private let plan: FetchPlan
  /// Detects changes of the SQLite file; nil for PostgreSQL.
  private let watch: ChangeWatch?
  /// The store's name in messages.
  private let name: String

  init(
    _ target: StoreArgument, entity: String, query: [(name: String, value: String)],
    predicate: String?, caller: CallerArguments
  ) throws {
    name = target.name
    store = try target.location.openToRead()
    let access = try caller.access(to: store.model, target.name)
    plan = try Self.plan(
      of: entity, query: query, in: access?.model ?? store.model, maxItems: 10_000,
      predicate: predicate
    ).restricted(by: access)
    watch =
      target.database == nil
      ? try reportingErrors(of: target.store) { try ChangeWatch(path: target.store) } : nil
  }

  /// Returns the plan of a fetch.
  ///
  /// - Parameter predicate: the text of the query's predicate, in which the message marks an error.
  /// - Throws: an `ExitCode` if the query does not fit the model; the reason was printed to standard
  ///   error.
  static func plan(
    of entity: String, query: [(name: String, value: String)], in model: Model, maxItems: Int,
    predicate: String?
  ) throws -> FetchPlan {
    do throws(FetchRequestError) {
      let request = try FetchRequest(entity: entity, query: query)
      return try FetchResolver(model: model, maxItems: maxItems).resolve(request)
    } catch {
      throw ProblemReport(Problem(error, isPath: false), predicate: predicate).failure()
    }
  }

  func snapshot() throws -> JSON {
    try reportingErrors(of: name) {
      try JSON(result: store.snapshot(of: plan, queryClass: .full).json)
    }
  }

  func nextResult() throws -> JSON? {
    guard let watch else {
      usleep(Self.databasePause)
      return try snapshot()
    }
    for _ in 0..<Self.checks {
      usleep(Self.pause)
      if try reportingErrors(of: name, { try watch.hasChanged() }) { return try snapshot() }
    }
    return nil
  }

  func columns(of fetch: FetchArguments, keys: [String]?) -> [String] {
    if let grouped = plan.groupedQuery { return grouped.columns.map(\.key) }
    return ["id"] + plan.selection.map(\.key)
  }
}

/// A fetch of a server: receives diffs by long-poll and applies them to the current result.
final class ServerFetch: FetchSource {
  private let remote: ServerClient
  private let path: String
  private let query: [(name: String, value: String)]
  private let predicate: String?
  /// The result to which the next diff is applied; nil without objects, for a count for example.
  private var current: ResultSnapshot?
  private var token: String?
  /// The number of requests since the last one with a usable response.
  private var failures = 0

  init(
    _ remote: ServerClient, entity: String, query: [(name: String, value: String)],
    predicate: String?
  ) {
    self.remote = remote
    path = "/v1/objects/\(PercentEncoding.encodeComponent(entity))"
    self.query = query
    self.predicate = predicate
  }

  func snapshot() throws -> JSON {
    adopt(try remote.json("GET", path, query: query, predicate: predicate))
  }

  func nextResult() throws -> JSON? {
    if failures > 0 { usleep(pause) }
    // After a failure, an immediate response: it shows that the server is reachable again.
    let wait = failures > 0 ? "0" : "25"
    guard let token, let json = try response(to: query + [("since", token), ("wait", wait)]) else {
      return try newSnapshot()
    }
    guard let diff = Diff(json: json), var snapshot = current else {
      // A diff without objects, of a count or of dictionaries: fetch again if the token changed.
      return json["to"] == json["from"] ? nil : try newSnapshot()
    }
    guard (try? snapshot.apply(diff)) != nil else { return try newSnapshot() }
    current = snapshot
    self.token = snapshot.token
    return diff.isEmpty ? nil : try JSON(result: snapshot.json)
  }

  func columns(of fetch: FetchArguments, keys: [String]?) throws -> [String] {
    if let keys, !keys.isEmpty { return keys }
    let model = try remote.json("GET", "/v1/model")
    let columns = ColumnKind.columns(of: fetch.entity, select: fetch.select, in: model)
    // Dictionaries have no id unless it is selected.
    return keys == nil ? columns : Array(columns.dropFirst())
  }

  /// Makes a result the one to which the next diff is applied, and returns it.
  private func adopt(_ json: JSON) -> JSON {
    current = ResultSnapshot(json: json)
    token = json["token"]?.string
    return json
  }

  /// Fetches the result again.
  private func newSnapshot() throws -> JSON? { try response(to: query).map(adopt) }

  /// Sends a request and returns the JSON of its response; nil if the token has expired (410).
  private func response(to query: [(name: String, value: String)]) throws -> JSON? {
    failures += 1
    let response: ClientResponse
    do {
      response = try remote.transfer("GET", path, query: query)
    } catch {
      throw ServerUnavailable(reason: remote.message(error))
    }
    let json = try? JSON(result: response.body)
    if response.status >= 500 || [408, 425, 429].contains(response.status) {
      throw ServerUnavailable(
        reason: "\(remote.address): \(json?["detail"]?.string ?? "status \(response.status)")")
    }
    failures = 0
    if response.status == 410 { return nil }
    guard response.status < 400 else {
      throw ProblemReport(
        status: response.status, json: json ?? .object([]), predicate: predicate
      ).failure()
    }
    guard let json else {
      failures = 1
      throw ServerUnavailable(reason: "\(remote.address): the response is not JSON")
    }
    return json
  }

  /// Microseconds before the next request: 0.1 s, doubled for each failure up to 5 s.
  private var pause: UInt32 { min(5_000_000, 100_000 << UInt32(min(failures - 1, 6))) }
}
