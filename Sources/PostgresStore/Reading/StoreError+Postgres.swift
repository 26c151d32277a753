// Errors of a connection → errors of a store.

import FetchModel

extension StoreError {
  init(_ error: PostgresError) {
    switch error {
    case .refused(let error): self.init(error)
    case .disconnected(let text): self = .storageFailed("PostgreSQL: \(text)")
    // Queries are cancelled when their client has disconnected; nobody receives this error.
    case .timedOut, .cancelled: self = .queryTimeout
    case .noFreeConnection: self = .overloaded
    case .closed: self = .busy
    case .malformed(let text): self = .failed("PostgreSQL: \(text)")
    }
  }

  private init(_ error: ServerError) {
    switch error.sqlState {
    // invalid_schema_name
    case "3F000" where error.message.contains("\"livefetch\""):
      self = .unsupported(Self.missingSchema)
    // undefined_table, undefined_column: a statement names what existed when the catalogue was read.
    case "42P01", "42703", "3F000": self = .schemaChanged(entity: "")
    // feature_not_supported
    case "0A000" where error.message.contains("cached plan"): self = .schemaChanged(entity: "")
    // undefined_function
    case "42883" where Self.missingFunction(error.message) != nil:
      self = .unsupported(Self.missingFunction(error.message) ?? "")
    case "0A000": self = .unsupported(error.message)
    // invalid_regular_expression: PostgreSQL finds it too complex.
    case "2201B": self = .unsupported(Self.pattern)
    // character_not_in_repertoire, untranslatable_character
    case "22021", "22P05": self = .unsupported("Text with the character U+0000 over PostgreSQL")
    // Class 22, data_exception: the functions of LiveFetch bring most values into range.
    case let state where state.hasPrefix("22"):
      self = .unsupported("A calculation beyond the range of PostgreSQL's types")
    // read_only_sql_transaction, insufficient_privilege: the role reads the tables, but may not write one.
    case "25006", "42501": self = .readOnly
    // object_not_in_prerequisite_state: the server was the primary when the store was opened.
    case "55000" where error.message.contains("recovery"):
      self = .storageFailed("PostgreSQL \(error)")
    // serialization_failure, deadlock_detected, lock_not_available
    case "40001", "40P01", "55P03": self = .busy
    // disk_full
    case "53100": self = .diskFull
    // too_many_connections
    case "53300": self = .overloaded
    // Class 08, connection_exception; 57P, operator_intervention; class 58, system_error.
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

  // Subjects of the sentence “… is not supported”.

  private static let missingSchema =
    "A predicate or an aggregate of LiveFetch's own, in a database in which no server without "
    + "`--read-only` has created the schema `livefetch`,"

  private static let pattern = "This pattern of MATCHES over PostgreSQL"
}
