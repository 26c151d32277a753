// SQLite's allocator with a limit for each query. All values of a row are in memory before the first of
// them is written into a response, and a row has as many values as `select` names.
//
// Only large blocks are counted, so that the limit costs small ones little. An allocation beyond the limit
// fails, SQLite reports SQLITE_NOMEM, and only that statement fails.

import FetchModel
import LiveFetchCSQLite

/// The limit of the memory that a query holds.
enum QueryMemory {
  /// Blocks from this size on are counted, as SQLite's `xSize` reports it.
  fileprivate static let largeBlock = 64 << 10
  /// A block may be larger than requested by fewer bytes than this.
  fileprivate static let rounding = 64

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

  /// The maximum number of bytes that a query holds in large blocks, for responses of at most `bytes`: four
  /// times as many, for copies of the longest value of a response, and at least 256 MiB.
  static func limit(forResponsesOf bytes: Int) -> Int {
    let (product, isTooLarge) = bytes.multipliedReportingOverflow(by: 4)
    return isTooLarge ? .max : max(product, 256 << 20)
  }
}

/// SQLite's own functions; without functions if SQLite does not return them. A constant, because Swift
/// checks each access to a global variable for exclusivity.
nonisolated(unsafe) private let standard: sqlite3_mem_methods = {
  var methods = sqlite3_mem_methods()
  return csqlite_get_allocator(&methods) == SQLITE_OK ? methods : sqlite3_mem_methods()
}()

private func size(_ block: UnsafeMutableRawPointer?) -> Int {
  block.map { Int(standard.xSize($0)) } ?? 0
}

/// The size of a block if it is counted, or 0.
private func countedSize(_ block: UnsafeMutableRawPointer?) -> Int {
  let size = size(block)
  return size >= QueryMemory.largeBlock ? size : 0
}

/// True if a block with `count` bytes may be counted.
private func mayBeLarge(_ count: Int32) -> Bool {
  count > QueryMemory.largeBlock - QueryMemory.rounding
}

private func allocate(_ count: Int32) -> UnsafeMutableRawPointer? {
  guard mayBeLarge(count), let connection = RunningQuery.connection else {
    return standard.xMalloc(count)
  }
  guard connection.mayHold(Int(count)) else { return nil }
  let block = standard.xMalloc(count)
  connection.heldBytes += countedSize(block)
  return block
}

private func free(_ block: UnsafeMutableRawPointer?) {
  let count = countedSize(block)
  if count > 0, let connection = RunningQuery.connection {
    connection.heldBytes = max(0, connection.heldBytes - count)
  }
  standard.xFree(block)
}

private func reallocate(
  _ block: UnsafeMutableRawPointer?, _ count: Int32
) -> UnsafeMutableRawPointer? {
  let old = countedSize(block)
  guard old > 0 || mayBeLarge(count), let connection = RunningQuery.connection else {
    return standard.xRealloc(block, count)
  }
  guard count <= old || connection.mayHold(Int(count) - old) else { return nil }
  guard let new = standard.xRealloc(block, count) else { return nil }
  connection.heldBytes = max(0, connection.heldBytes - old) + countedSize(new)
  return new
}
