// The items of a snapshot, in the order in which they are written → the snapshot's digest.

import FetchModel

/// The digest of a snapshot that is being written.
package struct SnapshotDigest {
  private var digest = Digest()
  private var section: [UInt8] = []
  private var previousID: [UInt8] = []

  package init() {}

  /// Begins a section with the JSON value `value`.
  package mutating func beginSection(_ value: [UInt8]) {
    section = value
    previousID = []
  }

  /// Adds the item with the JSON id `id`.
  package mutating func add(_ id: [UInt8]) {
    digest.add(section: section, previous: previousID, id: id)
    previousID = id
  }

  package var text: String { digest.text }
}
