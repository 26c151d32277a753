// Errors of a connection → errors of a store.

import FetchModel

extension StoreError {
  init(_ error: PostgresError) {
    switch error {
    case .refused(let error): self.init(error)
    case .disconnected(let text): self = .storageFailed("PostgreSQL: \(text)")
    // The client of a cancelled query has gone.
    case .timedOut, .cancelled: self = .queryTimeout
    // No connection is free.
    case .busy: self = .overloaded
    case .closed: self = .busy
    case .malformed(let text): self = .failed("PostgreSQL: \(text)")
    }
  }

  private init(_ error: ServerError) {
    switch error.sqlState {
    // invalid_schema_name
    case "3F000" where error.message.contains("\"livefetch\""):
      self = .unsupported(Self.functions)
    // undefined_table, undefined_column: a statement names what existed when the catalogue was read.
    case "42P01", "42703", "3F000": self = .schemaChanged(entity: "")
    case "0A000" where error.message.contains("cached plan"): self = .schemaChanged(entity: "")
    case "42883" where Self.missingFunction(error.message) != nil:
      self = .unsupported(Self.missingFunction(error.message) ?? "")
    case "0A000": self = .unsupported(error.message)
    // invalid_regular_expression: PostgreSQL finds it too complex.
    case "2201B": self = .unsupported(Self.pattern)
    case "22021", "22P05": self = .unsupported("Text with the character U+0000 over PostgreSQL")
    // Class 22, data_exception: the functions of LiveFetch bring most values into range.
    case let state where state.hasPrefix("22"):
      self = .unsupported("A calculation beyond the range of PostgreSQL's types")
    // read_only_sql_transaction, insufficient_privilege
    case "25006", "42501": self = .readOnly
    // The server was the primary when the store was opened.
    case "55000" where error.message.contains("recovery"):
      self = .storageFailed("PostgreSQL \(error)")
    // serialization_failure, deadlock_detected, lock_not_available
    case "40001", "40P01", "55P03": self = .busy
    case "53100": self = .diskFull
    // too_many_connections
    case "53300": self = .overloaded
    default:
      self =
        error.sqlState.hasPrefix("08") || error.sqlState.hasPrefix("57P")
          || error.sqlState.hasPrefix("58")
        ? .storageFailed("PostgreSQL \(error)") : .failed("PostgreSQL \(error)")
    }
  }

  /// Returns the name by which users know a function of LiveFetch that the database lacks; nil for
  /// other functions.
  private static func missingFunction(_ message: String) -> String? {
    let prefix = "function livefetch.livefetch_"
    guard message.hasPrefix(prefix) else { return nil }
    let name = message.dropFirst(prefix.count).prefix { $0 != "(" }
    return name == "matches" ? pattern : "`\(name)` over PostgreSQL"
  }

  /// The subject of the sentence “… is not supported”.
  private static let functions =
    "A predicate or an aggregate of LiveFetch's own, in a database in which no server without "
    + "`--read-only` has created the schema `livefetch`,"

  private static let pattern = "This pattern of MATCHES over PostgreSQL"
}
