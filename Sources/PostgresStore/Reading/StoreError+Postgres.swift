// Converts errors of a PostgreSQL connection into errors of a store.

import FetchModel

extension StoreError {
  init(_ error: PostgresError) {
    switch error {
    case .server(let error): self.init(error)
    case .disconnected(let text): self = .storageFailed("PostgreSQL: \(text)")
    // A query is cancelled when its client has disconnected, so no client receives this error.
    case .timedOut, .cancelled: self = .queryTimeout
    case .noFreeConnection: self = .overloaded
    // The store is closed when it is opened again; a repeated request reaches the next one.
    case .closed: self = .busy
    case .malformed(let text): self = .failed("PostgreSQL: \(text)")
    }
  }

  /// Converts the error of a read. A missing privilege is that to read, elsewhere that to write.
  init(reading error: PostgresError) {
    if error.isPrivilegeError {
      self = .unsupported("Reading a table or column that the server's role may not read")
    } else {
      self.init(composed: error)
    }
  }

  /// Converts the error of a statement that is composed from the model.
  init(composed error: PostgresError) {
    if error.showsOtherSchema {
      self = .schemaChanged(entity: "")
    } else {
      self.init(error)
    }
  }

  private init(_ error: ServerError) {
    if let subject = Self.unsupportedSubject(error) {
      self = .unsupported(subject)
      return
    }
    switch error.sqlState {
    // undefined_table, undefined_column, invalid_schema_name: it existed when the catalog was read.
    case "42P01", "42703", "3F000": self = .schemaChanged(entity: "")
    // feature_not_supported, of a stale plan
    case "0A000": self = .schemaChanged(entity: "")
    // read_only_sql_transaction, insufficient_privilege: the role may read the table but not write it.
    case "25006", "42501": self = .readOnly
    // object_not_in_prerequisite_state, of a function of the write-ahead log: the server was the primary
    // when the store was opened.
    case "55000" where error.function?.contains("wal") == true:
      self = .storageFailed("PostgreSQL \(error)")
    // serialization_failure, deadlock_detected, lock_not_available
    case "40001", "40P01", "55P03": self = .busy
    // disk_full
    case "53100": self = .diskFull
    // too_many_connections
    case "53300": self = .overloaded
    // Class 08, connection_exception; 57P, operator_intervention; class 58, system_error.
    case let state where ["08", "57P", "58"].contains(where: state.hasPrefix):
      self = .storageFailed("PostgreSQL \(error)")
    default: self = .failed("PostgreSQL \(error)")
    }
  }

  /// Returns the subject of the sentence “… is not supported”; nil for an error of another kind.
  private static func unsupportedSubject(_ error: ServerError) -> String? {
    switch error.sqlState {
    // invalid_schema_name
    case "3F000": error.message.contains("livefetch") ? missingSchemaSubject : nil
    // undefined_function
    case "42883":
      missingFunctionSubject(error.message)
        ?? "A calculation with a value of this type over PostgreSQL"
    // feature_not_supported
    case "0A000": error.isStalePlan ? nil : error.message
    // grouping_error, invalid_column_reference
    case "42803", "42P10": "This combination of `group`, `distinct` and expressions over PostgreSQL"
    // datatype_mismatch: the key's type is one that the client does not decode.
    case "42804":
      error.message.contains("bytea")
        ? "A relationship to a key of this type over PostgreSQL" : nil
    // generated_always
    case "428C9": "An id of one's own for a key that is GENERATED ALWAYS"
    // invalid_regular_expression: PostgreSQL refuses it as too complex.
    case "2201B": patternSubject
    // character_not_in_repertoire, untranslatable_character
    case "22021", "22P05": "Text with the character U+0000 over PostgreSQL"
    // too_many_arguments
    case "54023": "A fetch with more than 65,535 constants over PostgreSQL"
    // Class 22, data_exception. Most calculations avoid it by functions of LiveFetch.
    default:
      error.sqlState.hasPrefix("22") ? "A calculation beyond the range of PostgreSQL's types" : nil
    }
  }

  /// Returns the subject for a function of LiveFetch that the database lacks; nil for other functions.
  private static func missingFunctionSubject(_ message: String) -> String? {
    guard let range = message.firstRange(of: "livefetch.livefetch_") else { return nil }
    let name = message[range.upperBound...].prefix { $0 != "(" }
    return name == "matches" ? patternSubject : "`\(name)` over PostgreSQL"
  }

  private static let missingSchemaSubject =
    "A predicate or an aggregate of LiveFetch's own, in a database in which no server without "
    + "`--read-only` has created the schema `livefetch`,"

  private static let patternSubject = "This pattern of MATCHES over PostgreSQL"
}

extension PostgresError {
  /// True for an error that a statement has only if the tables are not those from which it was composed. If a
  /// column does not exist, `"t0"."rank"` is a call of the function `rank`.
  fileprivate var showsOtherSchema: Bool {
    guard case .server(let error) = self else { return false }
    return switch error.sqlState {
    // wrong_object_type, cannot_coerce, ambiguous_column
    case "42809", "42846", "42702": true
    // datatype_mismatch; a client can cause the one with `bytea`.
    case "42804": !error.message.contains("bytea")
    default: false
    }
  }
}
