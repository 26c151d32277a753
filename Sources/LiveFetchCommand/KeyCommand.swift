// `livefetch key create|list|revoke`: writes a record with a key's name, scopes, roles, user and expiry to a
// store, and prints the key once; or lists or revokes the keys of a store.

import ArgumentParser
import FetchModel
import Foundation
import Service

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Create, list and revoke the API keys of a store.",
    discussion: """
      The store keeps a hash of each key. It may be served meanwhile: a change counts within five \
      seconds.

      EXAMPLES
        livefetch key create shop.sqlite --name app --scope read,write
        livefetch key list shop.sqlite
        livefetch key revoke shop.sqlite app
        livefetch key list postgres://localhost/shop
      """,
    subcommands: [Create.self, List.self, Revoke.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create an API key, and print it. It is shown this once.",
      discussion: """
        EXAMPLES
          livefetch key create shop.sqlite --name app --scope read --scope write
          livefetch key create shop.sqlite --name ann --scope read --user ann --role hr --expires 30d
        """)

    @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.") var store: String
    @Option(help: "The key's name in lists and logs.") var name: String
    @Option(
      help: "'read' fetches, 'write' saves, 'admin' does the rest; may be repeated.",
      completion: .list(["read", "write", "admin"]))
    var scope: [String]
    @Option(help: "A role of the key's user; may be repeated.") var role: [String] = []
    @Option(help: "The id of the key's user.") var user: String?
    @Option(help: "The end of the key: 30d, 12h, 90m, 45s or 2w, or a date as 2030-12-31.")
    var expires: String?

    func validate() throws {
      _ = try scopes()
      for (option, texts) in [
        ("--name", [name]), ("--role", role), ("--user", user.map { [$0] } ?? []),
      ] {
        guard texts.allSatisfy(Self.isPlain) else {
          throw ValidationError("\(option) is empty or has control characters.")
        }
      }
      guard let expires else { return }
      guard let end = KeyDate.end(of: expires, from: Instant.now.secondsSince1970) else {
        throw ValidationError(
          "--expires takes 30d, 12h, 90m, 45s or 2w, or a date as 2030-12-31, not '\(expires)'.")
      }
      guard end > Instant.now.secondsSince1970 else {
        throw ValidationError("--expires: \(expires) has passed.")
      }
    }

    private static func isPlain(_ text: String) -> Bool {
      !text.isEmpty
        && text.unicodeScalars.allSatisfy { scalar in
          let category = scalar.properties.generalCategory
          return ![.control, .lineSeparator, .paragraphSeparator].contains(category)
            && !scalar.properties.isBidiControl
        }
    }

    /// The scopes in the order of `Caller.Scopes.names`, once each.
    private func scopes() throws -> [String] {
      let given = scope.flatMap { $0.split(separator: ",").map(String.init) }
      let known = Caller.Scopes.names.map(\.name)
      if let unknown = given.first(where: { !known.contains($0) }) {
        throw ValidationError("--scope takes 'read', 'write' or 'admin', not '\(unknown)'.")
      }
      guard !given.isEmpty else { throw ValidationError("--scope is empty.") }
      return known.filter(given.contains)
    }

    func run() throws {
      let store = StoreLocation(store)
      try store.check()
      let key = APIKey()
      let now = Instant.now.secondsSince1970
      let record = APIKeyRecord(
        id: key.id, name: name, digest: key.digest, scopes: try scopes(), roles: role,
        userID: user, created: now, expires: expires.flatMap { KeyDate.end(of: $0, from: now) })
      guard try store.addAPIKey(record) else {
        let message = "there is a key with the name or id '\(name)' already; revoke it first"
        throw StoreError.unusable(message).failure(store.name)
      }
      do {
        try Terminal.output.put(Array((key.text + "\n").utf8))
      } catch {
        // Nobody knows this key.
        _ = try store.revokeAPIKey(key.id)
        throw error
      }
      printError(
        "this is the only time that the key is shown; clients send it as 'Authorization: Bearer …'")
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the API keys of a store, without the keys themselves.",
      discussion: """
        EXAMPLES
          livefetch key list shop.sqlite
          livefetch key list shop.sqlite --json
        """)

    @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.") var store: String
    @Flag(help: "Print it as JSON.") var json = false

    func run() throws {
      let store = StoreLocation(store)
      try store.check()
      let keys = try store.apiKeys()
      print(json ? JSON.array(keys.map(\.json)).text : Self.table(keys))
    }

    private static func table(_ keys: [APIKeyRecord]) -> String {
      var table = TextTable(columns: [
        "ID", "NAME", "SCOPES", "ROLES", "USER", "CREATED", "EXPIRES", "STATE",
      ])
      for key in keys {
        table.add([
          key.id, key.name, key.scopes.joined(separator: ","), key.roles.joined(separator: ","),
          key.userID ?? "", KeyDate.text(key.created), key.expires.map(KeyDate.text) ?? "never",
          key.state,
        ])
      }
      return table.text()
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke an API key. Servers refuse it within five seconds.",
      discussion: """
        EXAMPLES
          livefetch key revoke shop.sqlite app
        """)

    @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.") var store: String
    @Argument(help: "The key's name or id.") var key: String

    func run() throws {
      let store = StoreLocation(store)
      try store.check()
      guard let revoked = try store.revokeAPIKey(key) else {
        throw StoreError.unusable("there is no key '\(key)' to revoke").failure(store.name)
      }
      print("\(store.name): revoked \(revoked.name) (\(revoked.id))")
    }
  }
}

extension APIKeyRecord {
  fileprivate var state: String {
    if revoked != nil { return "revoked" }
    return isValid(at: Instant.now.secondsSince1970) ? "valid" : "expired"
  }

  fileprivate var json: JSON {
    func date(_ seconds: Double?) -> JSON { seconds.map { .string(KeyDate.text($0)) } ?? .null }
    return .object([
      .init(name: "id", value: .string(id)), .init(name: "name", value: .string(name)),
      .init(name: "scopes", value: .array(scopes.map { .string($0) })),
      .init(name: "roles", value: .array(roles.map { .string($0) })),
      .init(name: "user", value: userID.map { .string($0) } ?? .null),
      .init(name: "created", value: date(created)), .init(name: "expires", value: date(expires)),
      .init(name: "revoked", value: date(revoked)), .init(name: "state", value: .string(state)),
    ])
  }
}

/// The dates of keys as text.
enum KeyDate {
  /// Returns the end of a duration from `now`, or a date, in seconds since 1970; nil for another
  /// text. A date without a time means its midnight, UTC.
  static func end(of text: String, from now: Double) -> Double? {
    if let seconds = DurationText.seconds(of: text) {
      return Instant(secondsSince1970: now + seconds)?.secondsSince1970
    }
    return (Instant(iso8601: text) ?? Instant(iso8601: text + "T00:00:00Z"))?.secondsSince1970
  }

  static func text(_ seconds: Double) -> String {
    Instant(secondsSince1970: seconds.rounded(.down))?.stored(as: .iso8601) ?? ""
  }
}
