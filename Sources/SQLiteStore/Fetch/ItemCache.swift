// The JSON of rows that a connection has written before, so that a fetch of rows seen lately needs
// no more than their ids: an index alone can give these.
//
// One cache a connection, so nothing is locked. It is true of one moment; when the connection reads
// a later one, the items of rows touched in between are dropped.

import FetchModel

/// Which values items hold: items of the same kind are interchangeable.
struct ItemKind: Sendable, Hashable {
  let entity: Int
  let selection: [SelectedValue]
  let integersAsStrings: Bool
}

/// Kept items of one connection.
struct ItemCache {
  private static let maxBytes = 2 << 20
  /// Beyond this many touched rows, starting anew is cheaper.
  static let maxTouched = 256

  private var kinds: [ItemKind: KeptItems] = [:]
  private var moment: Token?

  /// Makes the cache true of `token`; what was touched since then is asked of `touched`, which
  /// gives nil where that is not known or too much.
  mutating func advance(
    to token: Token,
    touched: (_ entity: Int, _ since: Token) throws(StoreError) -> [Int64]?
  ) throws(StoreError) {
    guard moment != token else { return }
    if let since = moment, since.epoch == token.epoch, since.position <= token.position {
      for (kind, items) in kinds {
        if let ids = try touched(kind.entity, since) {
          items.remove(ids)
        } else {
          drop(kind)
        }
      }
    } else {
      dropAll()
    }
    moment = token
  }

  private mutating func drop(_ kind: ItemKind) { kinds.removeValue(forKey: kind)?.isKept = false }

  private mutating func dropAll() {
    for kind in Array(kinds.keys) { drop(kind) }
  }

  /// The items of a kind.
  ///
  /// - Parameter row: makes the statement that reads one of them by its id.
  mutating func items(of kind: ItemKind, row: () -> FetchStatement) -> KeptItems {
    if kinds.values.reduce(0, { $0 + $1.size }) > Self.maxBytes { dropAll() }
    if let known = kinds[kind] { return known }
    let items = KeptItems(row: row())
    kinds[kind] = items
    return items
  }
}

/// The kept items of one kind, in one run of bytes.
final class KeptItems {
  /// Larger items, in bytes, are not kept.
  static let largestItem = 32 << 10
  /// Reads one row by its id, its only binding.
  let row: FetchStatement
  /// Whether the cache looks after it; if not, nothing in it may be used any more.
  fileprivate(set) var isKept = true
  private var bytes: [UInt8] = []
  private var places: [Int64: Range<Int>] = [:]

  init(row: FetchStatement) { self.row = row }

  /// How many bytes it takes, about.
  var size: Int { bytes.count + 48 * places.count }

  func remove(_ ids: [Int64]) {
    for id in ids { places[id] = nil }
  }

  func contains(_ id: Int64) -> Bool { places[id] != nil }

  /// Appends the item of `id` to `json`; false if it is not here.
  func append(_ id: Int64, to json: inout [UInt8]) -> Bool {
    guard let place = places[id] else { return false }
    bytes.withUnsafeBufferPointer {
      json.append(contentsOf: UnsafeBufferPointer(rebasing: $0[place]))
    }
    return true
  }

  /// Keeps the item of `id`.
  func keep(_ item: ArraySlice<UInt8>, _ id: Int64) {
    let start = bytes.count
    bytes.append(contentsOf: item)
    places[id] = start..<bytes.count
  }
}

extension FetchPlan {
  /// The kind of the plan's items if they may be kept: values of the object's own row alone, under
  /// an integer id, in a small window.
  func keptKind(_ schema: Schema) -> ItemKind? {
    let table = schema.entities[definition.entity]
    guard shape == .objects, table.isObservable, table.key.kind == .rowidAlias,
      let limit = window.limit, limit <= 200,
      selection.allSatisfy({ $0.isOfOwnRow(table) })
    else { return nil }
    return ItemKind(
      entity: definition.entity, selection: selection, integersAsStrings: integersAsStrings)
  }
}

extension SelectedValue {
  /// Whether it reads nothing but columns of the object's own row, which is one of `table`.
  fileprivate func isOfOwnRow(_ table: EntityTable) -> Bool {
    guard case .path(let path) = source else { return false }
    guard let step = path.steps.first else { return true }
    guard path.steps.count == 1, path.target == .object,
      case .foreignKey(let key) = table.relationships[step]
    else { return false }
    return key.referencesKey
  }
}
