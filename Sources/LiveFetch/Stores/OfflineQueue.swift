// Saves that wait for a server: each is stored before it is sent, sent in its turn under one
// idempotency key, and removed when the server has answered it.

import FetchModel
import Foundation
import Synchronization

/// A save that a server refused after its caller had stopped waiting, for example in an earlier run
/// of the program.
public struct RefusedSave: Sendable {
  /// The save, in the form of ``ObjectStore/save(_:)``.
  public let request: JSON
  /// The refusal: a conflict, a rule, a constraint; or `outcome-unknown` for a save that was sent
  /// more than 23 hours ago and not answered.
  public let error: ObjectStoreError
}

/// The queue of an ``OfflineStore``.
final class OfflineQueue: Sendable {
  private struct Entry {
    let number: Int
    let idempotencyKey: String
    var body: JSON
    /// When it was sent for the first time, in seconds since 1970.
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

    init(number: Int, body: JSON) {
      (self.number, self.body) = (number, body)
      idempotencyKey = UUID().uuidString
    }

    init?(_ data: Data) {
      guard let json = try? JSON(parsing: [UInt8](data)), let number = json["number"]?.integer,
        let key = json["idempotencyKey"]?.string, let body = json["body"]
      else { return nil }
      (self.number, idempotencyKey, self.body) = (Int(number), key, body)
      sent = json["sent"]?.double
    }
  }

  typealias Answer = Result<SaveReceipt, ObjectStoreError>

  private struct State {
    /// In the order in which they are sent.
    var entries: [Entry]
    var lastNumber: Int
    /// The callers that wait for an answer.
    var callers: [Int: SingleShotContinuation<Answer>] = [:]
    /// The permanent ids of answered inserts, by temporary id.
    var ids: [String: ObjectID] = [:]
    var isClosed = false
  }

  private let storage: any OfflineStorage
  private let send: @Sendable (JSON, String) async -> Answer
  private let onQueue: (@Sendable (Int, ObjectStoreError?) -> Void)?
  private let onRefused: (@Sendable (RefusedSave) -> Void)?
  // Protects the entries and the order of writes to the storage.
  private let state: Mutex<State>
  private let news: AsyncStream<Void>
  private let newsContinuation: AsyncStream<Void>.Continuation

  /// - Parameter send: sends a save under an idempotency key.
  init(
    _ storage: any OfflineStorage, send: @escaping @Sendable (JSON, String) async -> Answer,
    onQueue: (@Sendable (Int, ObjectStoreError?) -> Void)?,
    onRefused: (@Sendable (RefusedSave) -> Void)?
  ) throws {
    let keys = try storage.keys().filter { $0.hasPrefix("save-") }
    let entries = try keys.compactMap { try storage.value(forKey: $0).flatMap { Entry($0) } }
      .sorted { $0.number < $1.number }
    state = Mutex(State(entries: entries, lastNumber: entries.last?.number ?? 0))
    (self.storage, self.send) = (storage, send)
    (self.onQueue, self.onRefused) = (onQueue, onRefused)
    (news, newsContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// The saves that wait, in their order.
  var bodies: [JSON] { state.withLock { $0.entries.map(\.body) } }

  /// Stores a save and waits for the server's answer. A caller that is cancelled leaves the save in
  /// the queue.
  func save(_ body: JSON) async -> Answer {
    let caller = SingleShotContinuation<Answer>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard caller.begin(continuation) else { return }
        if let error = append(body, caller) { caller.end(.failure(error)) }
      }
    } onCancel: {
      caller.end(.failure(.cancelled))
    }
  }

  private func append(
    _ body: JSON, _ caller: SingleShotContinuation<Answer>
  ) -> ObjectStoreError? {
    let result: Result<Int, ObjectStoreError> = state.withLock { state in
      guard !state.isClosed else { return .failure(.cancelled) }
      let entry = Entry(number: state.lastNumber + 1, body: body.withIDs(state.ids))
      do {
        try storage.setValue(entry.data, forKey: entry.key)
      } catch {
        return .failure(.unreachable(ServiceUnavailable("the storage cannot be written: \(error)")))
      }
      state.lastNumber = entry.number
      state.entries.append(entry)
      state.callers[entry.number] = caller
      return .success(state.entries.count)
    }
    switch result {
    case .success(let count):
      onQueue?(count, nil)
      newsContinuation.yield()
      return nil
    case .failure(let error): return error
    }
  }

  /// Sends the saves until the queue is closed or the task is cancelled.
  func run() async {
    var news = news.makeAsyncIterator()
    var failures = 0
    while !Task.isCancelled {
      guard let entry = begin() else {
        if await news.next() == nil { return }
        continue
      }
      let answer: Answer =
        if entry.isOutcomeUnknown { .failure(.outcomeUnknown) } else {
          await send(entry.body, entry.idempotencyKey)
        }
      guard !Task.isCancelled else { return }
      if case .failure(let error) = answer, error.leavesQueued {
        onQueue?(bodies.count, error)
        failures += 1
        let pause = max(
          min(5, 0.1 * Double(1 << min(failures - 1, 6))),
          min(error.unavailability?.retryAfter ?? 0, 300))
        try? await Task.sleep(for: .seconds(pause * Double.random(in: 1...1.25)))
      } else {
        failures = 0
        end(entry.number, answer)
      }
    }
  }

  private struct Sending {
    let number: Int
    let isOutcomeUnknown: Bool
    let body: JSON
    let idempotencyKey: String
  }

  /// The first save, after its time of sending was stored; nil if there is none.
  private func begin() -> Sending? {
    state.withLock { state in
      guard !state.isClosed, var entry = state.entries.first else { return nil }
      let now = Date().timeIntervalSince1970
      let isUnknown = entry.sent.map { now - $0 > 23 * 3_600 } ?? false
      if entry.sent == nil {
        entry.sent = now
        try? storage.setValue(entry.data, forKey: entry.key)
        state.entries[0] = entry
      }
      return Sending(
        number: entry.number, isOutcomeUnknown: isUnknown, body: entry.body,
        idempotencyKey: entry.idempotencyKey)
    }
  }

  /// Removes an answered save. Later saves get the permanent ids first: if the program ends in
  /// between, the save is sent once more and answered with the same ids.
  private func end(_ number: Int, _ answer: Answer) {
    let ended = state.withLock { state in
      let entry = state.entries.removeFirst()
      if case .success(let receipt) = answer, !receipt.ids.isEmpty {
        state.ids.merge(receipt.ids) { $1 }
        for index in state.entries.indices {
          let body = state.entries[index].body.withIDs(receipt.ids)
          guard body != state.entries[index].body else { continue }
          state.entries[index].body = body
          try? storage.setValue(state.entries[index].data, forKey: state.entries[index].key)
        }
      }
      try? storage.setValue(nil, forKey: entry.key)
      return (entry, state.callers.removeValue(forKey: number), state.entries.count)
    }
    let (entry, caller, count) = ended
    let isTaken = caller?.end(answer) ?? false
    if case .failure(let error) = answer, !isTaken {
      onRefused?(RefusedSave(request: entry.body, error: error))
    }
    onQueue?(count, nil)
  }

  /// Ends the callers. The saves stay in the storage.
  func close() {
    let callers = state.withLock { state in
      state.isClosed = true
      defer { state.callers = [:] }
      return state.callers.values
    }
    newsContinuation.finish()
    for caller in callers { caller.end(.failure(.cancelled)) }
  }
}

extension ObjectStoreError {
  fileprivate static let outcomeUnknown = refused(
    Problem(
      409, "outcome-unknown", "Outcome unknown",
      "The save was sent more than 23 hours ago and not answered; it may have been made."))

  /// True if the save may be sent again. A refusal of the server's own ends it, except that of a
  /// credential.
  fileprivate var leavesQueued: Bool {
    switch self {
    case .refused(let problem): mayPass || problem.status == 401
    case .tokenExpired: false
    case .unreachable, .notUnderstood, .cancelled: true
    }
  }
}

extension JSON {
  /// A save whose references to temporary ids are permanent ids, except to its own inserts.
  fileprivate func withIDs(_ ids: [String: ObjectID]) -> JSON {
    guard !ids.isEmpty, case .array(let changes)? = self["changes"] else { return self }
    var ids = ids
    for change in changes where change["insert"] != nil {
      if let name = change["temporaryID"]?.string { ids[name] = nil }
    }
    return replacing(ids)
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
