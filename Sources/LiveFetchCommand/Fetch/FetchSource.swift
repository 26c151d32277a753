// A fetch of a file or of a server → snapshots as JSON, and notifications of changes.

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import SQLiteStore
import Service

/// A source of snapshots for `livefetch fetch`.
protocol FetchSource: AnyObject {
  /// Returns the current result in the API's JSON.
  func snapshot() throws -> JSON
  /// Waits until the result may have changed, and returns it; nil if it has not changed within a
  /// few seconds.
  func next() throws -> JSON?
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
    let json = try remote.json("GET", path, query: query, predicate: predicate)
    held = ResultSnapshot(json: json)
    token = json["token"]?.string
    return json
  }

  func next() throws -> JSON? {
    guard let token else { return try snapshot() }
    let response = try remote.response(
      "GET", path, query: query + [("since", token), ("wait", "25")])
    let json = try? JSON(parsing: response.body)
    if response.status == 410 { return try snapshot() }
    guard let json, response.status < 400 else {
      throw ProblemReport(
        status: response.status, json: json ?? .object([]), predicate: predicate
      ).failure()
    }
    self.token = json["to"]?.string ?? token
    guard let diff = Diff(json: json), var snapshot = held else {
      return json["to"] == json["from"] ? nil : try self.snapshot()
    }
    guard (try? snapshot.apply(diff)) != nil else { return try self.snapshot() }
    held = snapshot
    return diff.isEmpty ? nil : snapshot.json
  }
}

extension ResultSnapshot {
  /// The result in the API's JSON, limited to the printed parts.
  fileprivate var json: JSON {
    let sections = sections.map { section in
      JSON.object([
        .init(name: "name", value: .string(section.info.name)),
        .init(
          name: "items", value: .array(section.items.compactMap { try? JSON(parsing: $0) })),
      ])
    }
    var members: [JSON.Member] = [
      .init(name: "entity", value: .string(entity)), .init(name: "token", value: .string(token)),
      .init(name: "count", value: .number(String(summary.count))),
    ]
    if let total = summary.total {
      members.append(.init(name: "total", value: .number(String(total))))
    }
    if summary.isTruncated { members.append(.init(name: "truncated", value: .boolean(true))) }
    return .object(members + [.init(name: "sections", value: .array(sections))])
  }
}
