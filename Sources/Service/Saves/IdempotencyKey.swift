// The `Idempotency-Key` header → the save, or the stored response of an earlier request with the same key. Promises:
// a save with a key is executed once, and every request of the caller with this key, the same target and the same
// body gets the same response, as long as the store keeps it.

import Bytes
import FetchModel
import LiveFetchHTTPServer
import LiveFetchThreads

/// The key that a client chose for one save, and a hash of what a repetition of the request must not change.
struct IdempotencyKey: Sendable {
  /// The maximum length of the header's value.
  static let maxBytes = 255

  /// The key under which the store keeps the response: the header's value and the caller.
  let storeKey: String
  /// A hash of the method, the target and the body.
  let fingerprint: String

  /// Returns nil without the header. Equal values of different callers are different keys. The key does not depend on
  /// the access rules: after they have changed, a repetition must not save again.
  ///
  /// - Throws: A 400 for a value that is repeated, empty, too long or not printable ASCII.
  init?(_ context: RequestContext) throws(Problem) {
    let request = context.request
    let values = request.headerValues("Idempotency-Key")
    guard let value = values.first else { return nil }
    let isPrintable = value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    guard values.count == 1, (1...Self.maxBytes).contains(value.utf8.count), isPrintable else {
      throw .badRequest(
        "bad-idempotency-key",
        "`Idempotency-Key` is given once and has 1 to \(Self.maxBytes) printable ASCII characters.")
    }
    let caller: String? =
      switch context.caller?.kind {
      // A caller without a credential has other keys than the server token.
      case .anonymous where context.caller == Caller.visitor: "anonymous"
      case nil, .anonymous, .serverToken: nil
      // A key for another user may have the name of a revoked one.
      case .apiKey:
        [context.caller?.credential, context.caller?.userID].compactMap(\.self)
          .joined(separator: "\u{1F}")
      case .jwt: context.caller?.credential
      }
    storeKey = caller.map { "\(value)\u{1F}\($0)" } ?? value
    fingerprint = Self.fingerprint(of: request)
  }

  private static func fingerprint(of request: HTTPRequest) -> String {
    var hash = WideHash()
    hash.combine(request.method.utf8)
    hash.combine(request.target.utf8)
    // Version 0.1 hashed the values of three headers here. A response that it stored for a request without
    // these headers has this fingerprint.
    for _ in 0..<3 { hash.combine([]) }
    hash.combine(request.body)
    return hash.text
  }
}

/// Two FNV-1a hashes of 64 bits with different start values. It detects a key that is used for two requests by
/// mistake. It need not resist attacks: the same client makes both requests.
private struct WideHash {
  private var first = FNV1a64()
  private var second = FNV1a64(start: 0x6C62_272E_07BB_0142)

  mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
    // A separator, so that moving a byte from one part to the next changes the hash.
    combine(0xFF)
    combine(0x00)
  }

  private mutating func combine(_ byte: UInt8) {
    first.combine(byte)
    second.combine(byte)
  }

  var text: String { first.text + "-" + second.text }
}

// MARK: - Query and respond

extension Service {
  /// Executes a save unless one with its key was executed before, and responds as the first time.
  func executeOnce(
    _ request: SaveRequest, _ save: SaveOperation, _ key: IdempotencyKey, _ context: RequestContext
  ) {
    // Set if the save is executed, not repeated.
    let outcome = SharedValue<SaveResult?>(nil)
    let once = IdempotentSave(key: key.storeKey, fingerprint: key.fingerprint) {
      [self] result, transaction throws(StoreError) in
      outcome.value = result
      return try response(to: save, result, save.preferences) { plan, id throws(StoreError) in
        try transaction.object(id, of: plan)
      }.stored
    }
    store.save(request, once: once) { [self] result in
      if handsOver(result, context) { return }
      respond(to: context, isBrief: false) { () throws(Problem) in
        switch result {
        case .success(let stored):
          if !stored.isRepeated, let outcome = outcome.value {
            self.record(outcome, of: save, context)
          }
          try self.respond(with: stored, context)
        case .failure(let error): throw Problem(error)
        }
      }
    }
  }

  /// Responds as the first request with the key did, or with 422 if the key belongs to a different
  /// request. Calls `body` if there is no key, or no stored response for it.
  func replay(
    _ key: IdempotencyKey?, _ context: RequestContext,
    otherwise body: @escaping @Sendable () throws(Problem) -> Void
  ) throws(Problem) {
    guard let key else { return try body() }
    context.query { [store] queryClass throws(StoreError) in
      // A database server may answer late, and must not delay interactive queries: runs as a full one.
      guard queryClass == .full || store.properties.connections == 0 else { throw .tooSlow }
      return Result { () throws(SaveError) in
        try store.storedResponse(under: key.storeKey, fingerprint: key.fingerprint)
      }
    } then: { [self] found throws(Problem) in
      switch found {
      case .failure(let error): throw Problem(error)
      case .success(nil): try body()
      case .success(let stored?): try respond(with: stored, context)
      }
    }
  }

  private func respond(with stored: StoredResponse, _ context: RequestContext) throws(Problem) {
    guard var response = HTTPResponse(stored: stored.bytes) else {
      throw Problem(StoreError.failed("a stored response cannot be read"))
    }
    if stored.isRepeated { response.headers.append(("Idempotency-Replayed", "true")) }
    response.headers += context.headersWithoutToken
    context.send(response)
  }
}

extension HTTPResponse {
  /// The response as bytes for the store: lines with the status and the headers, an empty line, the body.
  var stored: [UInt8] {
    var head = "\(status)\n"
    for header in headers { head += "\(header.name): \(header.value)\n" }
    return Array((head + "\n").utf8) + body.bytes
  }

  /// Reads the bytes of ``stored``; nil if they have another form.
  init?(stored bytes: [UInt8]) {
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
