// Entries of an offline queue in its storage: waiting and refused saves.

import FetchModel
import Foundation

/// A save that a server or a gateway refused after its caller had stopped waiting, for example in an
/// earlier run of the program.
public struct RefusedSave: Sendable {
  /// The save, in the form of ``ObjectStore/save(_:)``.
  public let request: JSON
  /// The refusal: a conflict, a rule, a constraint; `no-problem-object` for a gateway's; or
  /// `outcome-unknown` for a save that was sent more than 23 hours ago and not answered.
  public let error: ObjectStoreError

  init(request: JSON, error: ObjectStoreError) { (self.request, self.error) = (request, error) }

  init?(_ data: Data) {
    guard let json = try? JSON(parsing: [UInt8](data)), let request = json["request"],
      let status = json["status"]?.integer, let body = json["problem"],
      let problem = Problem(json: body, status: Int(clamping: status))
    else { return nil }
    self.init(request: request, error: .refused(problem))
  }

  var data: Data {
    let problem: Problem =
      if case .refused(let problem) = error { problem } else {
        Problem(error.status ?? 400, error.code ?? "refused", "Refused", error.description)
      }
    let body = (try? JSON(parsing: problem.json)) ?? .null
    return Data(
      JSON.object([
        .init(name: "request", value: request),
        .init(name: "status", value: .number("\(problem.status)")),
        .init(name: "problem", value: body),
      ]).bytes)
  }
}

extension OfflineQueue {
  /// A waiting save.
  struct Entry {
    let number: Int
    let idempotencyKey: String
    var body: JSON
    /// When the server may have received it for the first time, in seconds since 1970; nil if it
    /// certainly has not.
    var sent: Double?

    var key: String { "save-\(number)" }

    var data: Data {
      var members: [JSON.Member] = [
        .init(name: "number", value: .number("\(number)")),
        .init(name: "idempotencyKey", value: .string(idempotencyKey)),
        .init(name: "body", value: body),
      ]
      if let sent { members.append(.init(name: "sent", value: .number("\(sent)"))) }
      return Data(JSON.object(members).bytes)
    }

    init(number: Int, body: JSON, idempotencyKey: String) {
      (self.number, self.body, self.idempotencyKey) = (number, body, idempotencyKey)
    }

    init?(_ data: Data) {
      guard let json = try? JSON(parsing: [UInt8](data)), let number = json["number"]?.integer,
        let key = json["idempotencyKey"]?.string, let body = json["body"]
      else { return nil }
      (self.number, idempotencyKey, self.body) = (Int(number), key, body)
      sent = json["sent"]?.double
    }
  }

  /// A refused save, by the number that it had in the queue.
  struct Refusal {
    let number: Int
    let save: RefusedSave

    static func key(_ number: Int) -> String { "refused-\(number)" }

    /// The refusals in a storage, oldest first.
    static func all(in storage: any OfflineStorage) throws -> [Refusal] {
      let numbers = try storage.keys().compactMap { key in
        key.hasPrefix("refused-") ? Int(key.dropFirst(8)) : nil
      }
      return try numbers.sorted().compactMap { number in
        try storage.value(forKey: key(number)).flatMap { RefusedSave($0) }
          .map { Refusal(number: number, save: $0) }
      }
    }
  }
}

extension ObjectStoreError {
  static let outcomeUnknown = refused(
    Problem(
      409, "outcome-unknown", "Outcome unknown",
      "The save was sent more than 23 hours ago and not answered; it may have been made."))

  static let removedFromQueue = refused(
    Problem(409, "removed", "Removed", "The save was removed from the queue, not answered."))

  /// True if the save may be sent again. A refusal of the server's own, or of a gateway, ends it, except
  /// that of a credential or of an address, which may be corrected. An internal error is a refusal too: it
  /// would block the saves behind it. A damaged file will be restored.
  var leavesQueued: Bool {
    switch self {
    case .refused(let problem):
      isTransient || problem.status == 401
        || ["unknown-host", "unknown-path"].contains(problem.code)
    case .unreachable(let unavailability):
      unavailability.code == nil || unavailability.code == "file-damaged"
        || unavailability.status != 500
    case .tokenExpired: false
    case .notUnderstood, .cancelled: true
    }
  }

  /// True if the server may have made the save. Answers of other servers say that it has not.
  var mayBeMade: Bool {
    switch self {
    case .refused, .tokenExpired, .notUnderstood: false
    case .unreachable(let unavailability): unavailability.isAnswerLost
    case .cancelled: true
    }
  }
}

extension JSON {
  /// A save whose references to temporary ids are permanent ids, except to its own inserts.
  func withIDs(_ ids: [String: ObjectID]) -> JSON {
    guard !ids.isEmpty else { return self }
    let own = insertedNames
    return replacing(ids.filter { !own.contains($0.key) })
  }

  /// The temporary ids of the objects that a save inserts.
  var insertedNames: Set<String> {
    guard case .array(let changes)? = self["changes"] else { return [] }
    return Set(changes.compactMap { $0["insert"] == nil ? nil : $0["temporaryID"]?.string })
  }

  private func replacing(_ ids: [String: ObjectID]) -> JSON {
    switch self {
    case .array(let elements): return .array(elements.map { $0.replacing(ids) })
    case .object(let members):
      if members.count == 1, let name = self["temporaryID"]?.string, let id = ids[name] {
        return id.predicateArgument
      }
      return .object(members.map { Member(name: $0.name, value: $0.value.replacing(ids)) })
    case .null, .boolean, .number, .string: return self
    }
  }
}
