// `livefetch_apart(program, values…)` runs a statement of its own on the same connection, within the
// same read, and gives its one value. A schema may not call it: it runs what it is given.

import CSQLite
import FetchModel

func registerStatementFunctions(on handle: OpaquePointer) {
  register(direct: "livefetch_apart", on: handle) { context, count, values in
    guard let values else { return fail(context) }
    // A program that is long is prepared where that may take its time.
    let length = sqlite3_value_bytes(values[0])
    if RunningQuery.connection?.effort == .quick, length > Connection.longestQuickStatement {
      return sqlite3_result_error_code(context, SQLITE_INTERRUPT)
    }
    guard let statement = RunningStatement.apart(context, values[0]) else { return fail(context) }
    statement.answer(context, values, 1..<Int(count))
  }
}

private func register(direct name: String, on handle: OpaquePointer, _ body: SQLFunctionBody) {
  sqlite3_create_function_v2(
    handle, name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, nil, body, nil, nil, nil)
}

/// Ends the query with what went wrong last on the connection.
private func fail(_ context: OpaquePointer?) {
  let handle = sqlite3_context_db_handle(context)
  let code = sqlite3_extended_errcode(handle)
  sqlite3_result_error(context, sqlite3_errmsg(handle), -1)
  sqlite3_result_error_code(context, code == SQLITE_OK ? SQLITE_ERROR : code)
}

/// The type under which statements are handed to each other.
private let statementPointer: StaticString = "livefetch statement"

/// A prepared statement with its first parameters bound, and the statements bound to it.
private final class RunningStatement {
  let pointer: OpaquePointer
  private let parts: [RunningStatement]
  /// How many parameters are bound for good.
  private let boundCount: Int32

  init?(_ handle: OpaquePointer?, _ sql: String, _ bindings: [StatementProgram.Binding] = []) {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let prepared else {
      return nil
    }
    pointer = prepared
    boundCount = Int32(bindings.count)
    var parts: [RunningStatement] = []
    var isWhole = true
    for (index, binding) in bindings.enumerated() {
      switch binding {
      case .value(let value): Statement(pointer: prepared).bind(value, at: Int32(index + 1))
      case .program(let program):
        guard let part = RunningStatement(handle, program) else {
          isWhole = false
          continue
        }
        parts.append(part)
        part.bind(to: prepared, at: Int32(index + 1))
      }
    }
    self.parts = parts
    if !isWhole { return nil }
  }

  convenience init?(_ handle: OpaquePointer?, _ program: [UInt8]) {
    guard let (sql, bindings) = StatementProgram.decoded(program) else { return nil }
    self.init(handle, sql, bindings)
  }

  deinit { sqlite3_finalize(pointer) }

  private func bind(to outer: OpaquePointer, at index: Int32) {
    statementPointer.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: statementPointer.utf8CodeUnitCount + 1
    ) {
      _ = sqlite3_bind_pointer(
        outer, index, Unmanaged.passUnretained(self).toOpaque(), $0, nil)
    }
  }

  /// The statement of a call: handed over by the statement around it, or made of a program and then
  /// kept as long as SQLite keeps it.
  static func apart(_ context: OpaquePointer?, _ value: OpaquePointer?) -> RunningStatement? {
    let handed = statementPointer.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: statementPointer.utf8CodeUnitCount + 1
    ) { sqlite3_value_pointer(value, $0) }
    if let handed { return Unmanaged<RunningStatement>.fromOpaque(handed).takeUnretainedValue() }
    return kept(context) {
      guard let start = sqlite3_value_blob(value) else { return nil }
      let count = Int(sqlite3_value_bytes(value))
      let program = Array(UnsafeRawBufferPointer(start: start, count: count))
      return RunningStatement(sqlite3_context_db_handle(context), program)
    }
  }

  /// Binds values to the parameters that are not bound for good.
  func bind(_ values: UnsafeMutablePointer<OpaquePointer?>, _ range: Range<Int>) {
    for (index, place) in range.enumerated() {
      sqlite3_bind_value(pointer, boundCount + Int32(index) + 1, values[place])
    }
  }

  /// What it gave for which values: nested collections ask the same again and again.
  private var known: [[UInt8]: SQLValue] = [:]
  private static let (mostKnown, longestKey, longestValue) = (4_096, 512, 4 << 10)

  /// Gives its first value for `values`, which it is run for once.
  func answer(
    _ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>, _ range: Range<Int>
  ) {
    let key = StatementProgram.key(range.map { storedValue(values[$0]) })
    if let value = known[key] { return setResult(context, value) }
    bind(values, range)
    guard let value = run(context), key.count <= Self.longestKey,
      !value.isLonger(than: Self.longestValue)
    else { return }
    if known.count >= Self.mostKnown { known.removeAll(keepingCapacity: true) }
    known[key] = value
  }

  /// Runs it, gives its first value, and tells it where that is no error.
  private func run(_ context: OpaquePointer?) -> SQLValue? {
    defer { sqlite3_reset(pointer) }
    switch sqlite3_step(pointer) {
    case SQLITE_ROW:
      sqlite3_result_value(context, sqlite3_column_value(pointer, 0))
      return Statement(pointer: pointer).value(0)
    case SQLITE_DONE: return .null
    default:
      fail(context)
      return nil
    }
  }
}

extension SQLValue {
  fileprivate func isLonger(than count: Int) -> Bool {
    switch self {
    case .text(let text): text.utf8.count > count
    case .blob(let bytes): bytes.count > count
    case .null, .integer, .double: false
    }
  }
}

/// What SQLite keeps beside the first argument of a call, or a new one where there is none.
private func kept<Kept: AnyObject>(
  _ context: OpaquePointer?, _ make: () -> Kept?
) -> Kept? {
  if let kept = sqlite3_get_auxdata(context, 0) {
    return Unmanaged<Kept>.fromOpaque(kept).takeUnretainedValue()
  }
  guard let new = make() else { return nil }
  // SQLite may drop it at once, so it gets a reference of its own.
  sqlite3_set_auxdata(context, 0, Unmanaged.passRetained(new).toOpaque()) { kept in
    if let kept { Unmanaged<AnyObject>.fromOpaque(kept).release() }
  }
  return new
}
