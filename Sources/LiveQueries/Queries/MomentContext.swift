// One open read transaction, for as long as the engine works in it.

import FetchModel

/// A moment of the store with what was asked of it already.
final class MomentContext {
  let moment: any LiveMoment
  let token: Token
  private var touches: [Int64: Touches] = [:]

  init(_ moment: any LiveMoment) {
    self.moment = moment
    token = moment.token
  }

  /// What was touched after `position`, asked once for every query.
  func touches(after position: Int64) throws(StoreError) -> Touches {
    if position == token.position { return Touches() }
    if let known = touches[position] { return known }
    let found = try moment.touches(after: position)
    touches[position] = found
    return found
  }
}
