// Orders values by the time at which they were read from the store.

import FetchModel

/// The time at which values were read. Answers can arrive out of order: a diff that was sent before
/// a save may arrive after it with older values.
struct ReadTime {
  /// The number of saves of the context tree when the request was sent.
  let saves: Int
  /// The token of the answer; nil if it has none that can be compared.
  let token: Token?

  init(saves: Int, token: String? = nil) {
    self.saves = saves
    self.token = token.flatMap { Token($0) }
  }

  /// The same time without a token.
  var withoutToken: ReadTime { ReadTime(saves: saves) }

  /// True if `other` is later. Tokens decide if they are comparable, otherwise the number of saves.
  func isOlder(than other: ReadTime) -> Bool {
    guard let token, let later = other.token, token.epoch == later.epoch else {
      return saves < other.saves
    }
    return token.position < later.position
  }
}

extension Token {
  /// True if `other` is a later position of the same history.
  func isOlder(than other: Token) -> Bool { epoch == other.epoch && position < other.position }
}

extension ManagedObject {
  /// When the value in `row` was read; nil if there is none.
  func readTime(of name: String) -> ReadTime? {
    row[name] == nil ? nil : readTimes[name] ?? rowReadTime
  }

  /// When the latest of the values in `row` was read.
  var latestReadTime: ReadTime {
    readTimes.values.reduce(rowReadTime) { $0.isOlder(than: $1) ? $1 : $0 }
  }

  /// True if `row` has a newer value of the property than `readTime`.
  func isNewer(_ name: String, than readTime: ReadTime) -> Bool {
    self.readTime(of: name).map { readTime.isOlder(than: $0) } ?? false
  }

  /// Merges stored values. Unsaved values and newer values are kept.
  ///
  /// - Returns: true if a visible value differs.
  func merge(_ received: ItemValues, asOf readTime: ReadTime) -> Bool {
    if let gone = missing, !readTime.isOlder(than: gone) { missing = nil }
    let isNew = readTimes.isEmpty && !readTime.isOlder(than: rowReadTime)
    let current = isNew ? received : received.filter { !isNewer($0.key, than: readTime) }
    let isShown = merge(current)
    record(readTime, of: current.names)
    return isShown
  }

  /// Forgets the tokens of the values in `row`, and of the state in which the object was missing.
  func forgetTokens() {
    rowReadTime = rowReadTime.withoutToken
    readTimes = readTimes.mapValues(\.withoutToken)
    missing = missing?.withoutToken
  }

  /// Records when some values of `row` were read.
  func record(_ readTime: ReadTime, of names: some Collection<String>) {
    if row.names.count <= names.count, !readTime.isOlder(than: rowReadTime) {
      rowReadTime = readTime
      readTimes = readTimes.filter { readTime.isOlder(than: $0.value) }
    } else {
      for name in names { readTimes[name] = readTime }
    }
  }
}
