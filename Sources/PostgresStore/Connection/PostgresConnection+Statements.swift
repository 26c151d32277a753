// SQL and parameters → the results of the server, in binary format; a script without parameters → results in
// text format. Statements are prepared on their first use, by their text and the types of their parameters.

import CPostgres

extension PostgresConnection {
  /// Runs one statement, which is prepared on its first use unless
  /// ``PreparedStatements/shouldPrepare(_:)`` is false.
  @discardableResult
  func query(
    _ sql: String, _ parameters: [PostgresValue] = []
  ) throws(PostgresError) -> QueryResult {
    let parameters = try Self.parameters(of: parameters)
    do {
      return try runPrepared(sql, parameters)
    } catch {
      guard error.isStaleStatement else { throw error }
      // The stale statement stays on the server until the connection ends; the new one has another name.
      statements.remove(Self.key(sql, parameters))
      // An open transaction has failed: its owner must repeat it.
      guard isIdle else { throw error }
      return try runPrepared(sql, parameters)
    }
  }

  /// Runs one statement and passes each row to `body` as it arrives. Unlike ``query(_:_:)``, throws the error of
  /// a stale statement; the next call prepares it again.
  ///
  /// - Parameter body: Receives a result and the number of a row in it. After it has returned false, the
  ///   remaining rows are still received, and ignored.
  func stream(
    _ sql: String, _ parameters: [PostgresValue], _ body: (QueryResult, Int) -> Bool
  ) throws(PostgresError) {
    let parameters = try Self.parameters(of: parameters)
    try send(sql, parameters)
    PQsetSingleRowMode(handle)
    var wantsMore = true
    do {
      _ = try results { result in
        for number in 0..<result.rowCount where wantsMore { wantsMore = body(result, number) }
      }
    } catch {
      if error.isStaleStatement { statements.remove(Self.key(sql, parameters)) }
      throw error
    }
  }

  /// Returns the parameters that libpq sends. Throws the errors that the server has for a text with U+0000, which
  /// libpq would cut there, and for more parameters than the protocol allows.
  private static func parameters(
    of values: [PostgresValue]
  ) throws(PostgresError) -> [PostgresValue.Parameter] {
    guard values.count <= 65_535 else {
      throw .server(
        ServerError(sqlState: "54023", message: "a statement has more than 65,535 parameters"))
    }
    let parameters = values.map(\.parameter)
    guard !parameters.contains(where: { !$0.isBinary && $0.bytes?.contains(0) == true }) else {
      throw .server(
        ServerError(sqlState: "22021", message: "text contains the character U+0000"))
    }
    return parameters
  }

  /// Runs statements without parameters in one round trip, in one transaction unless they contain
  /// transaction commands. Results are in text format.
  @discardableResult
  func execute(_ script: String) throws(PostgresError) -> [QueryResult] {
    try finishCommit()
    guard PQsendQuery(handle, script) == 1 else { throw sendFailure }
    return try results()
  }

  /// Runs one statement. Returns its result.
  private func runPrepared(
    _ sql: String, _ parameters: [PostgresValue.Parameter]
  ) throws(PostgresError) -> QueryResult {
    try send(sql, parameters)
    guard let last = try results().last else { throw .malformed("the server sent no result") }
    return last
  }

  /// Sends a statement, which is prepared on its first use. Does not wait for its result.
  private func send(
    _ sql: String, _ parameters: [PostgresValue.Parameter]
  ) throws(PostgresError) {
    let name = PreparedStatements.shouldPrepare(sql) ? try prepare(sql, parameters) : nil
    try finishCommit()
    let count = Int32(parameters.count)
    let format = QueryResult.Format.binary.rawValue
    let sent = ParameterArrays(parameters).withPointers { pointers, lengths, formats in
      if let name {
        PQsendQueryPrepared(handle, name, count, pointers, lengths, formats, format)
      } else {
        PQsendQueryParams(
          handle, sql, count, parameters.map(\.type), pointers, lengths, formats, format)
      }
    }
    guard sent == 1 else { throw sendFailure }
  }

  /// Returns the name of a prepared statement, and prepares it unless it is prepared already. Deallocates the
  /// least recently used one if there are too many.
  func prepare(
    _ sql: String, _ parameters: [PostgresValue.Parameter]
  ) throws(PostgresError) -> String {
    try finishCommit()
    let key = Self.key(sql, parameters)
    if let name = statements.name(for: key) { return name }
    let types = parameters.map(\.type)
    let (name, evicted) = statements.insert(key)
    do throws(PostgresError) {
      if let evicted { try execute("DEALLOCATE \(evicted)") }
      guard PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else {
        throw sendFailure
      }
      _ = try results()
    } catch {
      statements.remove(key)
      throw error
    }
    return name
  }

  /// Returns the key of a statement: its text, and the types of its parameters if any has one.
  private static func key(_ sql: String, _ parameters: [PostgresValue.Parameter]) -> String {
    let types = parameters.map(\.type)
    return types.allSatisfy { $0 == 0 } ? sql : "\(types) \(sql)"
  }

  /// The error after libpq could not send or receive.
  var sendFailure: PostgresError { .disconnected(lastMessage) }
}

/// The parameters of a statement as the arrays of pointers, lengths and formats that libpq reads.
private struct ParameterArrays {
  /// The values, with a zero byte after each.
  private let bytes: [UInt8]
  /// The index in `bytes` at which each value begins; nil for NULL.
  private let offsets: [Int?]
  private let lengths: [Int32]
  private let formats: [Int32]

  init(_ parameters: [PostgresValue.Parameter]) {
    var bytes: [UInt8] = []
    offsets = parameters.map { parameter in
      guard let value = parameter.bytes else { return nil }
      defer { bytes += value + [0] }
      return bytes.count
    }
    self.bytes = bytes + [0]
    lengths = parameters.map { Int32(clamping: $0.bytes?.count ?? 0) }
    formats = parameters.map { $0.isBinary ? 1 : 0 }
  }

  /// Calls `body` with the pointers, lengths and formats. The pointers are valid until it returns.
  func withPointers(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, [Int32], [Int32]) -> Int32
  ) -> Int32 {
    bytes.withUnsafeBytes { buffer in
      let start = buffer.bindMemory(to: CChar.self).baseAddress
      let pointers = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
      return pointers.withUnsafeBufferPointer { body($0.baseAddress, lengths, formats) }
    }
  }
}
