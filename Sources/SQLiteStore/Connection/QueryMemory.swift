// SQLite's allocator with a limit for each query. All values of a row are in memory before the first of
// them is written into a response, and a row has as many values as `select` names.
//
// Only large blocks are counted: for small ones the limit costs a comparison. An allocation beyond the
// limit fails, SQLite reports SQLITE_NOMEM, and only that statement fails.

import FetchModel
import LiveFetchCSQLite

enum QueryMemory {
  /// Blocks from this size on are counted.
  fileprivate static let largeBlock = 64 << 10

  /// Makes SQLite allocate with the functions below. Call it before the library's first use.
  ///
  /// - Returns: SQLite's code.
  static func install() -> Int32 {
    guard standard.xMalloc != nil else { return SQLITE_ERROR }
    var methods = standard
    methods.xMalloc = allocate
    methods.xFree = free
    methods.xRealloc = reallocate
    return csqlite_set_allocator(&methods)
  }

  /// The maximum number of bytes that a query holds in large blocks, for responses of at most `bytes`. It
  /// allows for some copies of the longest value of a response.
  static func limit(forResponsesOf bytes: Int) -> Int {
    let (product, isTooLarge) = bytes.multipliedReportingOverflow(by: 4)
    return isTooLarge ? .max : max(product, 256 << 20)
  }
}

/// SQLite's own functions; without functions if SQLite does not return them. A constant, because every
/// access to a global variable is checked for overlapping ones.
nonisolated(unsafe) private let standard: sqlite3_mem_methods = {
  var methods = sqlite3_mem_methods()
  return csqlite_get_allocator(&methods) == SQLITE_OK ? methods : sqlite3_mem_methods()
}()

private func size(_ block: UnsafeMutableRawPointer?) -> Int {
  block.map { Int(standard.xSize($0)) } ?? 0
}

private func allocate(_ count: Int32) -> UnsafeMutableRawPointer? {
  guard count >= QueryMemory.largeBlock, let connection = RunningQuery.connection else {
    return standard.xMalloc(count)
  }
  guard connection.mayHold(Int(count)) else { return nil }
  let block = standard.xMalloc(count)
  connection.heldBytes += size(block)
  return block
}

private func free(_ block: UnsafeMutableRawPointer?) {
  let count = size(block)
  if count >= QueryMemory.largeBlock, let connection = RunningQuery.connection {
    connection.heldBytes = max(0, connection.heldBytes - count)
  }
  standard.xFree(block)
}

private func reallocate(
  _ block: UnsafeMutableRawPointer?, _ count: Int32
) -> UnsafeMutableRawPointer? {
  guard count >= QueryMemory.largeBlock, let connection = RunningQuery.connection else {
    return standard.xRealloc(block, count)
  }
  let old = size(block)
  let counted = old >= QueryMemory.largeBlock ? old : 0
  guard connection.mayHold(Int(count) - counted) else { return nil }
  guard let new = standard.xRealloc(block, count) else { return nil }
  connection.heldBytes = max(0, connection.heldBytes - counted) + size(new)
  return new
}
