// The `Idempotency-Key` header: a save with one is made once and answered the same each time.

import Bytes
import FetchModel
import HTTPServer

/// The key that a client chose for one save, and what else has to be the same when it is repeated.
struct IdempotencyKey: Sendable {
  static let maxBytes = 255

  let key: String
  /// A hash of the method, the target, the headers that decide what is saved and answered, and the
  /// body.
  let fingerprint: String

  /// nil without the header.
  init?(_ request: HTTPRequest) throws(Problem) {
    let values = request.headerValues("Idempotency-Key")
    guard let value = values.first else { return nil }
    let isPrintable = value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    guard values.count == 1, (1...Self.maxBytes).contains(value.utf8.count), isPrintable else {
      throw .badRequest(
        "bad-idempotency-key",
        "`Idempotency-Key` is given once and has 1 to \(Self.maxBytes) printable ASCII characters.")
    }
    key = value
    fingerprint = Self.fingerprint(of: request)
  }

  private static func fingerprint(of request: HTTPRequest) -> String {
    var hash = WideHash()
    hash.combine(request.method.utf8)
    hash.combine(request.target.utf8)
    for name in ["If-Match", "If-None-Match", "Prefer"] {
      hash.combine(request.headerValues(name).joined(separator: ",").utf8)
    }
    hash.combine(request.body)
    return hash.text
  }
}

/// Two FNV-1a hashes of 64 bits that begin differently. Keeps mistakes apart, not attackers:
/// whoever chooses the key chooses both requests.
private struct WideHash {
  private var first = WideFNV1a()
  private var second = WideFNV1a(start: 0x6C62_272E_07BB_0142)

  mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
    // Ends a part: a byte that moves from one part to the next changes the hash.
    combine(0xFF)
    combine(0x00)
  }

  private mutating func combine(_ byte: UInt8) {
    first.combine(byte)
    second.combine(byte)
  }

  var text: String { first.text + "-" + second.text }
}

extension Service {
  /// Makes a save unless it was made before under its key, and answers as the first time.
  func saveOnce(
    _ call: Call, _ change: SaveCall, _ preferences: Preferences, _ key: IdempotencyKey
  ) {
    let once = IdempotentSave(key: key.key, fingerprint: key.fingerprint) {
      [self] outcome, moment throws(StoreError) in
      try response(to: change, outcome, preferences) { plan, id throws(StoreError) in
        try moment.object(id, of: plan)
      }.kept
    }
    store.save(change.request(preferences, of: call.callerID), once: once) { [self] result in
      reply(to: call) { () throws(Problem) in
        switch result {
        case .success(let answer): try self.send(answer, call)
        case .failure(let error): throw Problem(error, model: self.store.model)
        }
      }
    }
  }

  /// Answers what cannot be saved by its key alone, if that was used: as the first time, or that it
  /// was another request's.
  func replay(_ call: Call, _ key: IdempotencyKey) throws(Problem) -> Bool {
    let known: StoredResponse?
    do throws(SaveError) {
      known = try store.keptAnswer(under: key.key, fingerprint: key.fingerprint)
    } catch {
      throw Problem(error, model: store.model)
    }
    guard let known else { return false }
    try send(known, call)
    return true
  }

  private func send(_ answer: StoredResponse, _ call: Call) throws(Problem) {
    guard var response = HTTPResponse(kept: answer.bytes) else {
      throw Problem(StoreError.failed("a kept answer cannot be read"))
    }
    if answer.isRepeated { response.headers.append(("Idempotency-Replayed", "true")) }
    response.headers += corsOrigins.headers(for: call.request)
    call.exchange.respond(response)
  }
}

extension HTTPResponse {
  /// The response as bytes, for the store to keep: status, headers, an empty line, the body.
  var kept: [UInt8] {
    var head = "\(status)\n"
    for header in headers { head += "\(header.name): \(header.value)\n" }
    return Array((head + "\n").utf8) + body.bytes
  }

  /// Reads what ``kept`` wrote; nil if it is anything else.
  init?(kept bytes: [UInt8]) {
    var rest = bytes[...]
    func line() -> String? {
      guard let end = rest.firstIndex(of: 0x0A) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return String(decoding: rest[..<end], as: UTF8.self)
    }
    guard let status = line().flatMap({ Int($0) }) else { return nil }
    var headers: [(name: String, value: String)] = []
    while let line = line(), !line.isEmpty {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      headers.append((String(parts[0]), String(parts[1].dropFirst())))
    }
    self.init(status: status, headers: headers, body: .bytes(Array(rest)))
  }
}
