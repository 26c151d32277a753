// Keeps the newest results of followed fetches in memory and in a storage. Snapshots and diffs of the
// server enter; after the next start, the last state of each result leaves as a snapshot.

import Bytes
import FetchModel
import Foundation
import Synchronization

/// The results of the fetches that were followed last.
final class OfflineResults: Sendable {
  /// The number of results that are kept, unless more fetches are followed.
  private static let limit = 50
  private static let listKey = "results"

  private struct Result {
    var state: ResultState
    /// True if the storage has this state.
    var isWritten = true
  }

  private struct State {
    /// By the keys of ``list``, as far as they were used.
    var results: [String: Result] = [:]
    /// The keys of the results that are kept, the one used last at the end.
    var list: [String]
    /// The keys of the fetches that the server has answered since the store was created.
    var confirmed: Set<String> = []
    /// True if the server has answered any fetch since the store was created.
    var isAnswered = false
    /// The number of feeds of each fetch that is followed.
    var feeds: [String: Int] = [:]
    /// Keys whose values in the storage were removed or not found.
    var missing: Set<String> = []
    var isWriteScheduled = false
  }

  private let storage: any OfflineStorage
  // Protects the results and the order of writes to the storage.
  private let state: Mutex<State>

  init(_ storage: any OfflineStorage) {
    self.storage = storage
    let text = (try? storage.value(forKey: Self.listKey)) ?? nil
    var list: [String] = []
    if let text, case .array(let keys)? = try? JSON(stored: [UInt8](text)) {
      list = keys.compactMap(\.string)
    }
    state = Mutex(State(list: list))
  }

  /// True for a fetch whose result is kept: the first fetch of a follower, which requests a digest.
  static func keeps(_ request: JSON) -> Bool {
    request["digest"] == .boolean(true) && request["since"] == nil
  }

  /// Returns the last state of a result as a snapshot with the member `stored`; nil if there is none.
  ///
  /// - Parameter onlyUnconfirmed: true to return nil if the server has answered the fetch.
  func snapshot(of request: JSON, onlyUnconfirmed: Bool) -> JSON? {
    let key = Self.key(of: request)
    return state.withLock { state in
      if onlyUnconfirmed, state.confirmed.contains(key) { return nil }
      return load(key, &state)?.state.stored
    }
  }

  /// True if the server has answered this fetch.
  func isConfirmed(_ request: JSON) -> Bool {
    state.withLock { $0.confirmed.contains(Self.key(of: request)) }
  }

  /// True if the server has answered any fetch.
  var isAnswered: Bool { state.withLock { $0.isAnswered } }

  /// Notes an answer that is not kept.
  func recordAnswer() { state.withLock { $0.isAnswered = true } }

  /// Keeps the server's response to a fetch, a snapshot or a diff.
  func keep(_ answer: JSON, of request: JSON) {
    let key = Self.key(of: request)
    let isScheduled = state.withLock { state in
      state.confirmed.insert(key)
      state.isAnswered = true
      if let diff = Diff(json: answer) {
        guard let known = load(key, &state)?.state, known.token == diff.from else { return true }
        guard let new = known.applying(diff) else {
          remove(key, &state)
          return true
        }
        state.results[key] = Result(state: new, isWritten: false)
      } else if let new = ResultState(json: answer) {
        use(key, &state)
        state.results[key] = Result(state: new, isWritten: false)
      }
      defer { state.isWriteScheduled = true }
      return state.isWriteScheduled
    }
    guard !isScheduled else { return }
    Task { [weak self] in
      try? await Task.sleep(for: .seconds(1))
      self?.write()
    }
  }

  /// Keeps the result of a fetch until ``endFollowing(_:)``.
  func beginFollowing(_ request: JSON) {
    state.withLock { $0.feeds[Self.key(of: request), default: 0] += 1 }
  }

  func endFollowing(_ request: JSON) {
    let key = Self.key(of: request)
    state.withLock { state in
      let count = state.feeds[key] ?? 0
      state.feeds[key] = count > 1 ? count - 1 : nil
    }
  }

  /// Removes a result whose token has expired.
  func remove(_ request: JSON) {
    state.withLock { remove(Self.key(of: request), &$0) }
  }

  /// Writes the changed results. Errors are ignored: without a stored result the next start fetches.
  func write() {
    state.withLock { state in
      state.isWriteScheduled = false
      let unfollowed = state.list.filter { state.feeds[$0] == nil }
      for key in unfollowed.prefix(max(0, state.list.count - Self.limit)) { remove(key, &state) }
      for (key, result) in state.results where !result.isWritten {
        try? storage.setValue(Data(result.state.stored.bytes), forKey: key)
        state.results[key]?.isWritten = true
        state.missing.remove(key)
      }
      try? storage.setValue(
        Data(JSON.array(state.list.map { .string($0) }).bytes), forKey: Self.listKey)
    }
  }

  private func load(_ key: String, _ state: inout State) -> Result? {
    if state.results[key] == nil { read(key, &state) }
    guard let known = state.results[key] else { return nil }
    use(key, &state)
    return known
  }

  private func read(_ key: String, _ state: inout State) {
    guard !state.missing.contains(key), let data = (try? storage.value(forKey: key)) ?? nil,
      let json = try? JSON(result: [UInt8](data)), let found = ResultState(json: json)
    else {
      state.missing.insert(key)
      return
    }
    state.results[key] = Result(state: found)
  }

  /// Makes a key the one that was used last.
  private func use(_ key: String, _ state: inout State) {
    state.list.removeAll { $0 == key }
    state.list.append(key)
  }

  private func remove(_ key: String, _ state: inout State) {
    state.results[key] = nil
    state.list.removeAll { $0 == key }
    state.missing.insert(key)
    try? storage.setValue(nil, forKey: key)
  }

  /// The key of a request: a hash of 128 bits of its JSON.
  private static func key(of request: JSON) -> String {
    let bytes = request.bytes
    var (first, second) = (FNV1a64(), FNV1a64(start: 0x9E37_79B9_7F4A_7C15))
    first.combine(bytes)
    second.combine(bytes)
    return "result-\(first.text)-\(second.text)"
  }
}

extension ResultState {
  /// The state as a snapshot with the member `stored`.
  fileprivate var stored: JSON {
    var members: [JSON.Member] = [
      .init(name: "token", value: .string(token)),
      .init(name: "count", value: .number("\(summary.count)")),
      .init(name: "stored", value: .boolean(true)),
    ]
    if let next = summary.next { members.append(.init(name: "next", value: .string(next))) }
    if let total = summary.total {
      members.append(.init(name: "total", value: .number("\(total)")))
    }
    if summary.isTruncated { members.append(.init(name: "truncated", value: .boolean(true))) }
    if let digest = summary.digest { members.append(.init(name: "digest", value: .string(digest))) }
    let sections = sections.map { section in
      JSON.object([
        .init(name: "name", value: .string(section.info.name)),
        .init(name: "value", value: (try? JSON(stored: section.info.value)) ?? .null),
        .init(name: "indexTitle", value: .string(section.info.indexTitle)),
        .init(name: "items", value: .array(section.items.map(\.json))),
      ])
    }
    return .object(members + [.init(name: "sections", value: .array(sections))])
  }
}
