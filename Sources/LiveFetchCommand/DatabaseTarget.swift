// A STORE argument that names a PostgreSQL database.

import Foundation

/// The address of a PostgreSQL database.
struct DatabaseTarget: Sendable, Hashable {
  /// For libpq; may contain a password.
  let text: String

  /// The keywords of libpq with which a connection string begins, where a path rarely does.
  private static let keywords = [
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode",
  ]

  /// nil for a path.
  init?(_ text: String) {
    let isURL = ["postgres://", "postgresql://"].contains { text.hasPrefix($0) }
    let keyword = text.prefix { $0 != "=" && $0 != " " }
    guard isURL || text.contains("=") && Self.keywords.contains(String(keyword)) else {
      return nil
    }
    self.text = text
  }

  /// The address without its credentials, for messages.
  var name: String {
    guard let scheme = text.range(of: "://") else {
      let parts = text.split(separator: " ").filter { !$0.hasPrefix("password") }
      return parts.joined(separator: " ")
    }
    var rest = text[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    if let at = authority.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
    return String(text[..<scheme.upperBound]) + rest.prefix { $0 != "?" }
  }
}
