// An answer to many fetches, read at one moment: diffs as far as there is time, snapshots of the rest.

import FetchModel
import LiveQueries

/// Reads an answer to many fetches at one moment.
struct MomentReading {
  let fetches: [LiveFetches.Named]
  let ended: [EndedFetch]
  let service: Service
  let maxBytes: Int
  /// Which fetch is being read.
  private var index = 0

  /// How long diffs may be looked for; fetches whose diff is not found by then get a snapshot.
  static let diffTime = Duration.seconds(5)

  init(
    _ fetches: [LiveFetches.Named], ended: [EndedFetch], in service: Service
  ) {
    self.fetches = fetches
    self.ended = ended
    self.service = service
    maxBytes = service.configuration.maxLiveBytes
  }

  /// nil where it would be larger than an answer may be.
  mutating func answer(_ moment: any StoreMoment) throws(StoreError) -> [UInt8]? {
    let known = try diffs(moment)
    // What diffs took is not to be missing for snapshots.
    return try moment.within(nil) { () throws(StoreError) in try body(known, moment) }
  }

  private mutating func body(
    _ known: [Int: MomentDiffs.Answer], _ moment: any StoreMoment
  ) throws(StoreError) -> [UInt8]? {
    var body = LiveAnswerBody()
    for fetch in ended { body.append(fetch.reason.json, under: fetch.name) }
    for (index, named) in fetches.enumerated() {
      self.index = index
      switch known[index] {
      case .unchanged: continue
      case .diff(let json): body.append(json, under: named.name)
      case .expired, nil:
        body.append(try moment.snapshot(of: named.fetch.plan).json, under: named.name)
      }
      if body.count > maxBytes { return nil }
    }
    return body.finish(moment.token)
  }

  /// What there is to tell of the fetches that go on from somewhere, as far as there is time.
  private mutating func diffs(
    _ moment: any StoreMoment
  ) throws(StoreError) -> [Int: MomentDiffs.Answer] {
    let resumed = fetches.enumerated().compactMap { index, named in
      named.start.map { GroupFetch(index: index, plan: named.fetch.plan, since: $0) }
    }
    return try MomentDiffs(moment, model: service.store.model).diffs(
      of: resumed, columns: service.store.columns, within: Self.diffTime, upTo: maxBytes
    ) { index = $0 }.answers
  }

  func problem(_ error: StoreError) -> Problem {
    fetches.indices.contains(index)
      ? Problem(error).of(fetch: fetches[index].name) : Problem(error)
  }

  var tooLarge: Problem {
    Problem(
      400, "answer-too-large", "Bad request",
      "The answers to these fetches have more than \(maxBytes) bytes together.",
      hint: "a stream sends them one after the other"
    ).of(fetch: fetches[index].name)
  }
}

/// `{"token":"…","results":{"a":{…}}}`
struct LiveAnswerBody {
  private var results: [UInt8] = []

  var count: Int { results.count }

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
