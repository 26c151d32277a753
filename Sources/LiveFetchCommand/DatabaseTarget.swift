// A STORE argument that names a PostgreSQL database.

import Foundation

/// Returns an argument for messages: without what stands between `://` and the last `@`, which may be a
/// password.
func withoutCredentials(_ argument: String) -> String {
  guard let scheme = argument.range(of: "://"), let at = argument.lastIndex(of: "@"),
    at >= scheme.upperBound
  else { return argument }
  return String(argument[..<scheme.upperBound] + argument[argument.index(after: at)...])
}

/// The address of a PostgreSQL database.
struct DatabaseTarget: Sendable, Hashable {
  /// For libpq; may contain a password.
  let text: String

  /// The keywords of libpq, with which a path rarely begins.
  private static let keywords: Set = [
    "application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname",
    "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr",
    "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "load_balance_hosts", "options", "passfile", "password", "port", "replication", "require_auth",
    "requirepeer", "service", "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert",
    "sslcertmode", "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslmode", "sslnegotiation",
    "sslpassword", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout", "user",
  ]
  /// The keywords whose values are shown.
  private static let shownKeywords: Set = ["dbname", "host", "hostaddr", "port", "service"]

  /// nil for a path.
  init?(_ text: String) {
    self.text = text
    let keyword = text.drop { $0.isWhitespace }.prefix { $0 != "=" && !$0.isWhitespace }
    guard isURL || text.contains("=") && Self.keywords.contains(String(keyword)) else {
      return nil
    }
  }

  /// The address without its credentials, for messages.
  var name: String {
    guard isURL, let scheme = text.range(of: "://") else {
      let shown = pairs.filter { Self.shownKeywords.contains($0.keyword) }
      guard !shown.isEmpty else { return "PostgreSQL" }
      return shown.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ")
    }
    let rest = text[scheme.upperBound...]
    var address = rest.prefix { $0 != "?" }
    if let at = address.lastIndex(of: "@") {
      address = address[address.index(after: at)...]
    } else if rest.prefix(while: { $0 != "/" }).contains("@") {
      // A password with a question mark.
      address = ""
    }
    return String(text[..<scheme.upperBound]) + address
  }

  private var isURL: Bool { ["postgres://", "postgresql://"].contains { text.hasPrefix($0) } }

  /// The keywords of a connection string and their values, as libpq reads them.
  private var pairs: [(keyword: String, value: String)] {
    var rest = text[...]
    var found: [(keyword: String, value: String)] = []
    while let equals = rest.firstIndex(of: "=") {
      let keyword = rest[..<equals].filter { !$0.isWhitespace }
      rest = rest[rest.index(after: equals)...].drop { $0.isWhitespace }
      found.append((keyword, Self.takeValue(from: &rest)))
    }
    return found
  }

  /// Removes a value, which may be in quotes, from the start of `rest`.
  private static func takeValue(from rest: inout Substring) -> String {
    let isQuoted = rest.first == "'"
    if isQuoted { rest.removeFirst() }
    var value = ""
    while let character = rest.popFirst() {
      if character == "\\" {
        if let next = rest.popFirst() { value.append(next) }
      } else if isQuoted ? character == "'" : character.isWhitespace {
        break
      } else {
        value.append(character)
      }
    }
    return value
  }
}
