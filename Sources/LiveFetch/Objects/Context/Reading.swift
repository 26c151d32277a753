// When something that a context was told was so, and which of two tellings is the newer one.

/// The moment of an answer of the store. What is told comes in any order: a diff may have been on its
/// way while a save was made, and says then what was before it.
struct Reading {
  /// How many saves the tree of contexts had made when the store was asked.
  let saves: Int
  /// The store's own moment; nil where it was not told, or is none that can be compared.
  let token: Token?

  init(saves: Int, token: String? = nil) {
    self.saves = saves
    self.token = token.flatMap { Token($0) }
  }

  /// Whether `other` says what was later. The store's moments tell, and where they cannot be compared
  /// the count of saves does.
  func isOlder(than other: Reading) -> Bool {
    guard let token, let later = other.token, token.epoch == later.epoch else {
      return saves < other.saves
    }
    return token.position < later.position
  }
}

extension ManagedObject {
  /// How new the value that `row` has is; nil where it has none.
  func reading(of name: String) -> Reading? {
    row[name] == nil ? nil : readings[name] ?? rowReading
  }

  /// Whether `row` has a newer value of a property than `reading` gives.
  func isNewer(_ name: String, than reading: Reading) -> Bool {
    self.reading(of: name).map { reading.isOlder(than: $0) } ?? false
  }

  /// Takes over what the store told. Assigned values stay, and so do those that are newer.
  ///
  /// - Returns: whether a value that shows is another one.
  func take(_ told: [String: JSON], asOf reading: Reading) -> Bool {
    if let gone = missing, !reading.isOlder(than: gone) { missing = nil }
    let isNew = readings.isEmpty && !reading.isOlder(than: rowReading)
    let current = isNew ? told : told.filter { !isNewer($0.key, than: reading) }
    let isShown = take(current)
    note(reading, of: current.keys)
    return isShown
  }

  /// Remembers how new some values of `row` are.
  func note(_ reading: Reading, of names: some Collection<String>) {
    if row.count <= names.count, !reading.isOlder(than: rowReading) {
      rowReading = reading
      readings = readings.filter { reading.isOlder(than: $0.value) }
    } else {
      for name in names { readings[name] = reading }
    }
  }
}
