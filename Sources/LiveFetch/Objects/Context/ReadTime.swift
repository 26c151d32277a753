// Orders values by the time at which they were read from the store.

import FetchModel

/// The time at which values were read. Answers can arrive out of order: a diff that was sent before
/// a save may arrive after it with older values.
struct Reading {
  /// The number of saves of the context tree when the request was sent.
  let saves: Int
  /// The token of the answer; nil if it has none that can be compared.
  let token: Token?

  init(saves: Int, token: String? = nil) {
    self.saves = saves
    self.token = token.flatMap { Token($0) }
  }

  /// True if `other` is later. Tokens decide if they are comparable, otherwise the number of saves.
  func isOlder(than other: Reading) -> Bool {
    guard let token, let later = other.token, token.epoch == later.epoch else {
      return saves < other.saves
    }
    return token.position < later.position
  }
}

extension ManagedObject {
  /// When the value in `row` was read; nil if there is none.
  func reading(of name: String) -> Reading? {
    row[name] == nil ? nil : readings[name] ?? rowReading
  }

  /// When the latest of the values in `row` was read.
  var latestReading: Reading {
    readings.values.reduce(rowReading) { $0.isOlder(than: $1) ? $1 : $0 }
  }

  /// True if `row` has a newer value of the property than `reading`.
  func isNewer(_ name: String, than reading: Reading) -> Bool {
    self.reading(of: name).map { reading.isOlder(than: $0) } ?? false
  }

  /// Merges stored values. Unsaved values and newer values are kept.
  ///
  /// - Returns: true if a visible value differs.
  func merge(_ received: ItemValues, asOf reading: Reading) -> Bool {
    if let gone = missing, !reading.isOlder(than: gone) { missing = nil }
    let isNew = readings.isEmpty && !reading.isOlder(than: rowReading)
    let current = isNew ? received : received.filter { !isNewer($0.key, than: reading) }
    let isShown = merge(current)
    record(reading, of: current.names)
    return isShown
  }

  /// Records when some values of `row` were read.
  func record(_ reading: Reading, of names: some Collection<String>) {
    if row.names.count <= names.count, !reading.isOlder(than: rowReading) {
      rowReading = reading
      readings = readings.filter { reading.isOlder(than: $0.value) }
    } else {
      for name in names { readings[name] = reading }
    }
  }
}
