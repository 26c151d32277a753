// The user's SQL within a migration → executed, or the line of the statement that failed.
//
// The migration is one transaction. A script must not end it, begin another one, or open other
// files.

import FetchModel
import LiveFetchCSQLite

extension Connection {
  /// Runs every statement of `script`.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` with the script's name, the line, and SQLite's message.
  func run(_ script: MigrationScript) throws(StoreError) {
    sqlite3_set_authorizer(handle, keepsTransaction, nil)
    defer { sqlite3_set_authorizer(handle, nil, nil) }
    let text = ScriptText(script.sql)
    if let zero = text.bytes.dropLast().firstIndex(of: 0) {
      throw ScriptFailure(reason: "the character U+0000 would end the script", offset: zero)
        .error(in: script, text)
    }
    var offset = 0
    while let start = text.statement(from: offset) {
      let (statement, end, failure) = prepare(text, at: start)
      defer { sqlite3_finalize(statement) }
      if let failure { throw failure.error(in: script, text) }
      if let statement, let reason = runToEnd(statement) {
        throw ScriptFailure(reason: reason, offset: start).error(in: script, text)
      }
      offset = max(end, start + 1)
    }
  }

  private func prepare(
    _ text: ScriptText, at start: Int
  ) -> (statement: OpaquePointer?, end: Int, failure: ScriptFailure?) {
    var statement: OpaquePointer?
    var end = text.bytes.count
    let code = text.bytes.withUnsafeBytes { buffer -> Int32 in
      guard let base = buffer.bindMemory(to: CChar.self).baseAddress else { return SQLITE_OK }
      var tail: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v2(handle, base + start, -1, &statement, &tail)
      if let tail { end = tail - base }
      return code
    }
    guard code != SQLITE_OK else { return (statement, end, nil) }
    let place = Int(sqlite3_error_offset(handle))
    return (
      nil, end,
      ScriptFailure(
        reason: code & 0xFF == SQLITE_AUTH
          ? "a script may not begin or end transactions, nor reach other files"
          : String(cString: sqlite3_errmsg(handle)),
        offset: start + max(0, place))
    )
  }

  /// Runs a statement to its end. Returns the error message; nil on success.
  private func runToEnd(_ statement: OpaquePointer) -> String? {
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW { code = sqlite3_step(statement) }
    guard code == SQLITE_DONE else { return String(cString: sqlite3_errmsg(handle)) }
    return isInAutocommit ? "it rolled the transaction back" : nil
  }
}

/// A failure at a byte offset of a script.
private struct ScriptFailure {
  let reason: String
  let offset: Int

  func error(in script: MigrationScript, _ text: ScriptText) -> StoreError {
    .unusable("\(script.name), line \(text.line(of: offset)): \(reason)")
  }
}

/// A script's bytes, terminated by a 0.
private struct ScriptText {
  let bytes: [UInt8]

  init(_ sql: String) { bytes = Array(sql.utf8) + [0] }

  func line(of offset: Int) -> Int { bytes.prefix(offset).count { $0 == 0x0A } + 1 }

  /// Returns the offset of the next statement, after blanks, comments and lone semicolons; nil at
  /// the end.
  func statement(from offset: Int) -> Int? {
    var offset = offset
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x00: return nil
      case 0x09...0x0D, 0x20, 0x3B: offset += 1
      case 0x2D where bytes[offset + 1] == 0x2D: offset = end(of: [0x0A], from: offset)
      case 0x2F where bytes[offset + 1] == 0x2A: offset = end(of: [0x2A, 0x2F], from: offset + 2)
      default: return offset
      }
    }
    return nil
  }

  /// Returns the offset after the next `mark`, or the offset of the end.
  private func end(of mark: [UInt8], from offset: Int) -> Int {
    var offset = offset
    while offset < bytes.count - 1 {
      if bytes[offset...].starts(with: mark) { return offset + mark.count }
      offset += 1
    }
    return bytes.count - 1
  }
}

/// Denies statements that would end the script's transaction.
private func keepsTransaction(
  _ context: UnsafeMutableRawPointer?, _ action: Int32, _ first: UnsafePointer<CChar>?,
  _ second: UnsafePointer<CChar>?, _ third: UnsafePointer<CChar>?,
  _ fourth: UnsafePointer<CChar>?
) -> Int32 {
  switch action {
  case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH: SQLITE_DENY
  default: SQLITE_OK
  }
}
