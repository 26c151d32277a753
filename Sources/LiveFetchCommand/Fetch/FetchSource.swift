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
  /// Waits until the result may have changed, and returns it; nil if it has not changed within a
  /// few seconds.
  ///
  /// - Throws: ``NoAnswer`` if a server does not answer at present. The next call waits a while and
  ///   continues from the same token.
  func next() throws -> JSON?
}

/// A server does not answer, or refuses what it may accept later.
struct NoAnswer: Error {
  /// For a person.
  let reason: String
}

/// A fetch of a file or a database.
final class LocalFetch: FetchSource {
  /// Microseconds between two checks of the file.
  private static let pause: UInt32 = 100_000
  /// Microseconds between two fetches of a database, which has no such check.
  private static let databasePause: UInt32 = 1_000_000

  private let store: any ReopenableStore
  private let plan: FetchPlan
  /// nil for a database.
  private let watch: ChangeWatch?
  /// The store, for messages.
  private let name: String

  init(
    _ target: StoreArgument, entity: String, query: [(name: String, value: String)],
    predicate: String?, caller: CallerArguments
  ) throws {
    name = target.name
    store = try target.openToRead()
    let access = try caller.access(to: store.model, target.name)
    plan = try Self.plan(
      entity, query, in: access?.model ?? store.model, maxItems: 10_000, predicate
    ).restricted(by: access)
    watch =
      target.database == nil
      ? try reportingErrors(of: target.store) { try ChangeWatch(path: target.store) } : nil
  }

  static func plan(
    _ entity: String, _ query: [(name: String, value: String)], in model: Model, maxItems: Int,
    _ predicate: String?
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
      try JSON(parsing: store.snapshot(of: plan, queryClass: .full).json)
    }
  }

  func next() throws -> JSON? {
    guard let watch else {
      usleep(Self.databasePause)
      return try snapshot()
    }
    for _ in 0..<50 {
      usleep(Self.pause)
      if try reportingErrors(of: name, { try watch.hasChanged() }) { return try snapshot() }
    }
    return nil
  }
}

/// A fetch of a server: receives diffs by long-poll and applies them to the current result.
final class RemoteFetch: FetchSource {
  private let remote: RemoteStore
  private let path: String
  private let query: [(name: String, value: String)]
  private let predicate: String?
  private var held: ResultSnapshot?
  private var token: String?
  /// The number of requests since the last one that was answered.
  private var failures = 0

  init(
    _ remote: RemoteStore, entity: String, query: [(name: String, value: String)],
    predicate: String?
  ) {
    self.remote = remote
    path = "/v1/objects/\(PercentEncoding.encodeSegment(entity))"
    self.query = query
    self.predicate = predicate
  }

  func snapshot() throws -> JSON {
    keep(try remote.json("GET", path, query: query, predicate: predicate))
  }

  func next() throws -> JSON? {
    if failures > 0 { usleep(pause) }
    // After a failure, an immediate answer: it shows that the server is reachable again.
    let wait = failures > 0 ? "0" : "25"
    guard let token, let json = try answer(query + [("since", token), ("wait", wait)]) else {
      return try newSnapshot()
    }
    guard let diff = Diff(json: json), var snapshot = held else {
      return json["to"] == json["from"] ? nil : try newSnapshot()
    }
    guard (try? snapshot.apply(diff)) != nil else { return try newSnapshot() }
    held = snapshot
    self.token = snapshot.token
    return diff.isEmpty ? nil : try JSON(parsing: snapshot.json)
  }

  private func keep(_ json: JSON) -> JSON {
    held = ResultSnapshot(json: json)
    token = json["token"]?.string
    return json
  }

  private func newSnapshot() throws -> JSON? { try answer(query).map(keep) }

  /// The JSON of a response; nil if the token has expired.
  private func answer(_ query: [(name: String, value: String)]) throws -> JSON? {
    failures += 1
    let response: ClientResponse
    do {
      response = try remote.transfer("GET", path, query: query)
    } catch {
      throw NoAnswer(reason: remote.message(error))
    }
    let json = try? JSON(parsing: response.body)
    if response.status >= 500 || [408, 425, 429].contains(response.status) {
      throw NoAnswer(
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
      throw NoAnswer(reason: "\(remote.address): the response is not JSON")
    }
    return json
  }

  /// Microseconds before the next request: 0.1 s, doubled for each failure up to 5 s.
  private var pause: UInt32 { min(5_000_000, 100_000 << UInt32(min(failures - 1, 6))) }
}
