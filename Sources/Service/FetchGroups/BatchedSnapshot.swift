// Many fetches and one read transaction → one response body: diffs as far as there is time, then
// snapshots of the others.
//
// A resumed fetch is one with a token. Promises: every resumed fetch whose result may have changed is in
// the response, because for a client a resumed fetch that is missing is unchanged. A fetch without a
// token is left out if there is no time for it and another fetch has a result: its client requests it again.

import FetchModel
import LiveFetchThreads
import LiveQueries

/// Reads the response to many fetches in one transaction.
struct BatchedSnapshot {
  let fetches: [FetchGroup.Named]
  let service: Service
  let maxBytes: Int
  /// The tag of the tokens that the caller receives, which depends on its permissions.
  private let tag: UInt32?
  /// The index of the fetch that is being read.
  private var index: Int?
  /// The diffs, snapshots and problems by the fetches' index.
  private var results: [Int: [UInt8]] = [:]
  /// The bytes of the results and the fetches' names.
  private var size = 0
  /// The number of items of the diffs and snapshots.
  private(set) var itemCount = 0

  /// The longest time for diffs; they take at most half of the time that there is. Fetches without a diff
  /// by then get a snapshot.
  static let diffTime = Duration.seconds(5)

  init(_ fetches: [FetchGroup.Named], _ context: RequestContext) {
    self.fetches = fetches
    service = context.service
    tag = context.tokenTag
    maxBytes = service.configuration.maxResponseBytes
  }

  /// Returns nil if the body would be too large. Resumed fetches that have neither a diff nor a snapshot
  /// by `end` get a problem.
  ///
  /// - Throws: ``StoreError/queryTimeout`` if the time ends and no fetch has a result, or if the server ends.
  mutating func read(
    _ transaction: any StoreReadTransaction, until end: ContinuousClock.Instant
  ) throws(StoreError) -> (json: [UInt8], token: Token)? {
    let time = ContinuousClock.now.duration(to: end)
    let rest = try readDiffs(transaction, within: min(Self.diffTime, time / 2))
    try readSnapshots(ofResumed: rest, transaction, until: end)
    let left = max(.zero, ContinuousClock.now.duration(to: end))
    try transaction.withTimeLimit(left) { () throws(StoreError) in
      try readSnapshotsWithoutToken(transaction)
    }
    return size > maxBytes ? nil : (body(transaction.token), transaction.token)
  }

  /// Reads the diffs of the fetches that have a token, as far as there is time.
  ///
  /// - Returns: the fetches that need a snapshot.
  private mutating func readDiffs(
    _ transaction: any StoreReadTransaction, within time: Duration
  ) throws(StoreError) -> [Int] {
    let resumed = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.plan, since: $0) }
    }
    let known = try TransactionDiffs(transaction, model: service.store.model).diffs(
      of: resumed, columns: service.store.columns, within: time, upTo: maxBytes,
      willRead: { index = $0 }
    ).answers
    index = nil
    for (index, answer) in known {
      guard case .diff(let diff) = answer else { continue }
      itemCount += diff.itemCount
      add(diff.json(tags: fetches[index].tags), of: index)
    }
    return resumed.map(\.index).filter { known[$0] == nil || known[$0] == .expired }
  }

  private mutating func readSnapshots(
    ofResumed rest: [Int], _ transaction: any StoreReadTransaction,
    until end: ContinuousClock.Instant
  ) throws(StoreError) {
    for index in rest where size <= maxBytes {
      self.index = index
      do throws(StoreError) {
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { throw .queryTimeout }
        try transaction.withTimeLimit(left) { () throws(StoreError) in
          try readSnapshot(of: index, transaction)
        }
      } catch .queryTimeout where !service.isStopping {
        add(Problem.catchUpTimedOut.json, of: index)
      }
    }
  }

  /// Reads the snapshots of the fetches without a token.
  private mutating func readSnapshotsWithoutToken(
    _ transaction: any StoreReadTransaction
  ) throws(StoreError) {
    for index in fetches.indices where fetches[index].start == nil && size <= maxBytes {
      self.index = index
      do throws(StoreError) {
        try readSnapshot(of: index, transaction)
      } catch .queryTimeout where !results.isEmpty && !service.isStopping {
        return
      }
    }
  }

  private mutating func readSnapshot(
    of index: Int, _ transaction: any StoreReadTransaction
  ) throws(StoreError) {
    leaveProcessorBriefly()
    let snapshot = try transaction.snapshot(of: fetches[index].plan)
    itemCount += snapshot.count ?? 0
    add(snapshot.json(tag: tag), of: index)
  }

  private mutating func add(_ json: [UInt8], of index: Int) {
    results[index] = json
    size += json.count + fetches[index].name.utf8.count
  }

  private func body(_ token: Token) -> [UInt8] {
    var body = FetchGroupBody()
    for (index, named) in fetches.enumerated() {
      if let json = results[index] { body.append(json, under: named.name) }
    }
    return body.finish(token.tagged(tag))
  }

  /// The problem of an error, with the name of the fetch that was being read.
  func problem(_ error: StoreError) -> Problem { named(Problem(error)) }

  private func named(_ problem: Problem) -> Problem {
    index.map { problem.of(fetch: fetches[$0].name) } ?? problem
  }

  /// The problem after ``read(_:until:)`` has returned nil.
  var tooLarge: Problem {
    named(
      Problem.badRequest(
        "answer-too-large",
        "The answers to these fetches have more than \(maxBytes) bytes together.",
        hint: "a smaller `limit` or `select` makes them smaller, and a stream sends them one by one"
      ))
  }
}

/// `{"token":"…","results":{"a":{…}}}`
struct FetchGroupBody {
  private var results: [UInt8] = []

  /// The size of the results in bytes.
  var size: Int { results.count }

  mutating func append(_ json: [UInt8], under name: String) {
    if !results.isEmpty { results.append(0x2C) }
    results.append(jsonString: name)
    results.append(0x3A)
    results.append(contentsOf: json)
  }

  func finish(_ token: Token) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(results.count + 96)
    json.append(json: "{\"token\":")
    json.append(jsonString: token.description)
    json.append(json: ",\"results\":{")
    json.append(contentsOf: results)
    json.append(json: "}}")
    return json
  }
}
