// An answer to many fetches, read at one moment: diffs as far as there is time, snapshots of the
// rest as far as there is.
//
// What is resumed and not named in an answer is as it was, so each of these is told. What is not
// resumed is asked again anyway as long as it did not come: where the time is over, it is left out.

import FetchModel
import LiveQueries

/// Reads an answer to many fetches at one moment.
struct BatchedSnapshot {
  let fetches: [LiveFetches.Named]
  let service: Service
  let maxBytes: Int
  /// Which fetch is being read.
  private var index = 0
  /// What there is to say, by the fetches' index.
  private var results: [Int: [UInt8]] = [:]
  private var size = 0

  /// How long diffs may be looked for; fetches whose diff is not found by then get a snapshot.
  static let diffTime = Duration.seconds(5)
  /// How long these snapshots may be read; fetches that have neither by then are told to begin
  /// anew.
  private static let snapshotTime = Duration.seconds(15)

  init(_ fetches: [LiveFetches.Named], in service: Service) {
    self.fetches = fetches
    self.service = service
    maxBytes = service.configuration.maxAnswerBytes
  }

  /// nil where it would be larger than an answer may be.
  ///
  /// - Throws: ``StoreError/queryTimeout`` where the time is over before there is anything to say.
  mutating func answer(_ moment: any StoreReadTransaction) throws(StoreError) -> [UInt8]? {
    let rest = try readDiffs(moment)
    try readSnapshots(ofResumed: rest, moment)
    // What these took is not to be missing for the others.
    try moment.within(nil) { () throws(StoreError) in try readNew(moment) }
    return size > maxBytes ? nil : body(moment.token)
  }

  /// Reads what there is to tell of the fetches that go on from somewhere, as far as there is time.
  ///
  /// - Returns: those that get a snapshot.
  private mutating func readDiffs(_ moment: any StoreReadTransaction) throws(StoreError) -> [Int] {
    let resumed = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.fetch.plan, since: $0) }
    }
    let known = try TransactionDiffs(moment, model: service.store.model).diffs(
      of: resumed, columns: service.store.columns, within: Self.diffTime, upTo: maxBytes
    ) { index = $0 }.answers
    for (index, answer) in known {
      if case .diff(let json) = answer { add(json, of: index) }
    }
    return resumed.map(\.index).filter { known[$0] == nil || known[$0] == .expired }
  }

  private mutating func readSnapshots(
    ofResumed rest: [Int], _ moment: any StoreReadTransaction
  ) throws(StoreError) {
    let end = ContinuousClock.now + Self.snapshotTime
    for index in rest where size <= maxBytes {
      self.index = index
      do throws(StoreError) {
        guard ContinuousClock.now < end else { throw .queryTimeout }
        try moment.within(nil) { () throws(StoreError) in try readSnapshot(of: index, moment) }
      } catch .queryTimeout {
        add(Problem.resumeTimedOut.json, of: index)
      }
    }
  }

  private mutating func readNew(_ moment: any StoreReadTransaction) throws(StoreError) {
    for index in fetches.indices where fetches[index].start == nil && size <= maxBytes {
      self.index = index
      do throws(StoreError) {
        try readSnapshot(of: index, moment)
      } catch .queryTimeout where !results.isEmpty {
        return
      }
    }
  }

  private mutating func readSnapshot(
    of index: Int, _ moment: any StoreReadTransaction
  ) throws(StoreError) {
    add(try moment.snapshot(of: fetches[index].fetch.plan).json, of: index)
  }

  private mutating func add(_ json: [UInt8], of index: Int) {
    results[index] = json
    size += json.count + fetches[index].name.utf8.count
  }

  private func body(_ token: Token) -> [UInt8] {
    var body = LiveAnswerBody()
    for (index, named) in fetches.enumerated() {
      if let json = results[index] { body.append(json, under: named.name) }
    }
    return body.finish(token)
  }

  func problem(_ error: StoreError) -> Problem {
    fetches.indices.contains(index)
      ? Problem(error).of(fetch: fetches[index].name) : Problem(error)
  }

  var tooLarge: Problem {
    Problem.badRequest(
      "answer-too-large", "The answers to these fetches have more than \(maxBytes) bytes together.",
      hint: "a smaller `limit` or `select` makes them smaller, and a stream sends them one by one"
    ).of(fetch: fetches[index].name)
  }
}

/// `{"token":"…","results":{"a":{…}}}`
struct LiveAnswerBody {
  private var results: [UInt8] = []

  /// How many bytes the results have.
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
