// A fetch, an object or several fetches that a caller follows in a store and in its copy.

import FetchModel
import TestSupport
import Testing

/// What a caller follows.
struct GeneratedObservation {
  /// A path of the API; empty if there are `fetches`, which `POST /v1/live` observes together.
  var target = ""
  var fetches: [GeneratedFetch] = []

  func request(since token: String? = nil, wait: Int = 0) -> GeneratedRequest {
    guard fetches.isEmpty else {
      let members = fetches.enumerated().map { index, fetch in
        "\"f\(index)\":\((token.map { fetch.with("since", $0) } ?? fetch).body)"
      }
      return GeneratedRequest(
        method: "POST", target: "/v1/live",
        body: #"{"fetches":{\#(members.joined(separator: ","))},"wait":\#(wait)}"#)
    }
    guard let token else { return GeneratedRequest(target: target) }
    let separator = target.contains("?") ? "&" : "?"
    return GeneratedRequest(target: "\(target)\(separator)since=\(token)&wait=\(wait)")
  }
}

/// Follows an observation by diffs, and by a long-poll or a stream, in a store and in its copy.
struct GeneratedWatch {
  let observation: GeneratedObservation
  let user: AccessFixture.User
  let own: AccessFixture
  let copy: AccessFixture
  private var tokens: (own: String, copied: String)
  private var polls: (own: Pending, copied: Pending)?
  private var streams: (own: EventReader, copied: EventReader)?
  /// Pairs of texts that must be equal.
  private var pairs: [(own: String, copied: String)] = []
  /// The copy's snapshot.
  private var snapshot = ""
  /// True after the object has gone.
  private var isOver = false

  /// - Parameter tokens: Those of a snapshot in the store and in the copy.
  init(
    _ observation: GeneratedObservation, _ user: AccessFixture.User, own: AccessFixture,
    copy: AccessFixture, tokens: (own: String, copied: String), isStream: Bool,
    masked: (String) -> String
  ) throws {
    self.observation = observation
    self.user = user
    self.own = own
    self.copy = copy
    self.tokens = tokens
    if isStream {
      streams = (try stream(own), try stream(copy))
      readEvents(max(1, observation.fetches.count))
    } else {
      poll()
    }
    _ = try readSnapshots(masked)
  }

  private func begin(
    _ fixture: AccessFixture, _ request: GeneratedRequest, accept: String? = nil
  ) -> Pending {
    let accept = accept.map { [(name: "Accept", value: $0)] } ?? []
    return fixture.file.begin(
      request.method, request.target, body: request.body,
      headers: fixture.headers(user.name) + accept)
  }

  private func stream(_ fixture: AccessFixture) throws -> EventReader {
    let pending = begin(fixture, observation.request(), accept: "text/event-stream")
    _ = pending.wait()
    return EventReader(try #require(pending.stream))
  }

  private mutating func poll() {
    polls = (
      begin(own, observation.request(since: tokens.own, wait: 60)),
      begin(copy, observation.request(since: tokens.copied, wait: 60))
    )
  }

  private mutating func readEvents(_ count: Int) {
    guard let streams else { return }
    func read(_ reader: EventReader) -> String {
      reader.next(count).map { "\($0.kind) \($0.data)" }.sorted().joined(separator: "\n")
    }
    pairs.append((read(streams.own), read(streams.copied)))
  }

  private func ask(_ fixture: AccessFixture, since token: String? = nil) throws -> Answer {
    try #require(begin(fixture, observation.request(since: token)).wait())
  }

  /// Returns true if the copy's snapshot is another one than at the last call.
  private mutating func readSnapshots(_ masked: (String) -> String) throws -> Bool {
    let copied = Self.text(try ask(copy))
    pairs.append((Self.text(try ask(own)), copied))
    defer { snapshot = masked(copied) }
    return snapshot != masked(copied)
  }

  /// The status and the body. The diffs of several fetches are in the order of their names: which of
  /// them is the first to be computed does not matter.
  private static func text(_ answer: Answer?) -> String {
    guard let answer else { return "no response" }
    guard case .object(let results)? = answer.json["results"] else {
      return "\(answer.status) \(answer.text)"
    }
    var bytes: [UInt8] = []
    for result in results.sorted(by: { $0.name < $1.name }) {
      bytes += Array(result.name.utf8)
      bytes.append(json: result.value)
    }
    return "\(answer.status) \(String(decoding: bytes, as: UTF8.self))"
  }

  /// The token of a diff, or of the response of `POST /v1/live`.
  private static func token(_ answer: Answer) -> String? {
    (answer.json["to"] ?? answer.json["token"])?.string
  }

  /// Reads what has been sent since the last call, after a save in the store and the same change in the
  /// copy.
  ///
  /// - Parameter masked: Returns a text without its tokens.
  /// - Returns: Pairs of texts that must be equal, and true if the caller sees a change.
  mutating func next(
    _ masked: (String) -> String
  ) throws -> (pairs: [(own: String, copied: String)], isChange: Bool) {
    guard !isOver else { return ([], false) }
    let own = try ask(own, since: tokens.own)
    let copied = try ask(copy, since: tokens.copied)
    pairs.append((Self.text(own), Self.text(copied)))
    let isOther = try readSnapshots(masked)
    tokens = (Self.token(own) ?? tokens.own, Self.token(copied) ?? tokens.copied)
    let later = masked(Self.text(try ask(copy, since: tokens.copied)))
    // A diff of a count has the same members whether it changed or not.
    let isChange = isOther || masked(Self.text(copied)) != later
    isOver = copied.status != 200 || copied.json["deleted"] == .boolean(true)
    if let polls {
      if isChange {
        pairs.append((Self.text(polls.own.wait()), Self.text(polls.copied.wait())))
        if !isOver { poll() }
      } else {
        pairs.append(("\(polls.own.isThere)", "\(polls.copied.isThere)"))
      }
    } else if isChange {
      var count = 1
      if case .object(let members) = copied.json["results"] { count = members.count }
      readEvents(count)
    }
    defer { pairs = [] }
    return (pairs.map { (masked($0.own), masked($0.copied)) }, isChange)
  }
}
