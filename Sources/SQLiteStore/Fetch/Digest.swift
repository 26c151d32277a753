// The digest of API.md section 4 over a snapshot's items, as they are written.

import FetchModel

struct SnapshotDigest {
  private var sum: UInt32 = 0
  private var sectionValue: [UInt8] = []
  private var previousID: [UInt8] = []

  /// Begins a section whose value is `value` as JSON.
  mutating func beginSection(_ value: [UInt8]) {
    sectionValue = value
    previousID = []
  }

  /// Adds the item whose id is `id` as JSON.
  mutating func add(_ id: [UInt8]) {
    var hash = FNV1a()
    hash.combine(sectionValue)
    hash.combine(CollectionOfOne(0x1F))
    hash.combine(previousID)
    hash.combine(CollectionOfOne(0x1E))
    hash.combine(id)
    sum &+= hash.value
    previousID = id
  }

  /// Eight hexadecimal digits.
  var text: String {
    let hex = String(sum, radix: 16)
    return String(repeating: "0", count: 8 - hex.count) + hex
  }
}
