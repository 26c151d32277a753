// Credential → caller.
//
// Enters: a request's headers. Leaves: who sends it and what they may do. Promises: every request is
// authenticated here, once; comparing a credential takes the same time wherever it differs.

import HTTPServer

/// The sender of a request, and what they may do.
struct Caller: Sendable, Hashable {
  /// What a caller may do.
  struct Scopes: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// Fetches.
    static let read = Scopes(rawValue: 1)
    /// Saves.
    static let write = Scopes(rawValue: 2)
    /// Everything else.
    static let admin = Scopes(rawValue: 4)
    static let all: Scopes = [.read, .write, .admin]
  }

  let scopes: Scopes
  /// The credential's name for queues, logs and quotas; nil for an anonymous caller, who is
  /// identified by the address.
  let credential: String?

  /// A caller without a valid credential where one is required.
  static let unauthenticated = Caller(scopes: [], credential: nil)
}

/// Finds out who sends a request.
struct Authenticator: Sendable {
  /// The server's own token; nil if anonymous callers may do everything.
  let serverToken: String?

  func caller(of request: HTTPRequest) -> Caller {
    guard let serverToken else { return Caller(scopes: .all, credential: nil) }
    guard let token = Self.bearerToken(of: request), Self.isEqual(token.utf8, serverToken.utf8)
    else { return .unauthenticated }
    return Caller(scopes: .all, credential: "token")
  }

  private static func bearerToken(of request: HTTPRequest) -> Substring? {
    guard let header = request.header("Authorization"), header.utf8.count <= 8192 else {
      return nil
    }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return parts[1]
  }

  /// Takes a time that does not depend on where the texts differ.
  private static func isEqual(_ given: Substring.UTF8View, _ wanted: String.UTF8View) -> Bool {
    var difference = given.count ^ wanted.count
    for (left, right) in zip(given, wanted) { difference |= Int(left ^ right) }
    return difference == 0
  }
}
