// One open read transaction, for as long as the engine works in it.

import FetchModel

/// A moment of the store with what was asked of it already.
final class CatchUpContext {
  let moment: any ReadTransaction
  let token: Token
  private var touches: [Int64: ChangedObjects] = [:]

  init(_ moment: any ReadTransaction) {
    self.moment = moment
    token = moment.token
  }

  /// What was touched after `position`, asked once for every query.
  func touched(after position: Int64, in model: Model) throws(StoreError) -> ChangedObjects {
    if position == token.position { return ChangedObjects(ChangeSet(), in: model) }
    if let known = touches[position] { return known }
    let found = ChangedObjects(try moment.touches(after: position), in: model)
    touches[position] = found
    return found
  }

  /// What was found out for many fetches together, by position.
  private var searches: [Int64: SharedSearch] = [:]
  /// After which positions so much was touched that there was no time to look at it.
  private var unsearched: Set<Int64> = []

  /// Whether more was touched after `position` than there was time to look at for many fetches
  /// together.
  func isTooMuch(after position: Int64) -> Bool { unsearched.contains(position) }

  /// For fewer fetches each asks by itself.
  private static let fewestTogether = 8

  /// Looks once for all of `keys` at what was touched after `start`, where they are enough for that
  /// to be of use and the store can tell.
  func search(
    for keys: Set<QueryKey>, after start: Token, in model: Model, _ columns: (any ColumnTraits)?
  ) throws(StoreError) {
    let position = start.position
    guard keys.count >= Self.fewestTogether, start.epoch == token.epoch,
      position < token.position, try moment.standing(of: start) == .known
    else { return }
    unsearched.insert(position)
    let search = try SharedSearch(
      for: keys, after: position, self, model: model, columns: columns)
    guard !search.hasFailed else { return }
    unsearched.remove(position)
    searches[position] = search
  }

  /// What the fetch of that key has to ask of what was touched after `position`.
  func concern(of key: QueryKey, after position: Int64) -> AffectedScope {
    searches[position]?.concern(of: key) ?? .everything
  }
}
