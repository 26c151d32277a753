// One open read transaction, for as long as the engine works in it.

import FetchModel

/// A moment of the store with what was asked of it already.
final class MomentContext {
  let moment: any LiveMoment
  let token: Token
  private var touches: [Int64: TouchedObjects] = [:]

  init(_ moment: any LiveMoment) {
    self.moment = moment
    token = moment.token
  }

  /// What was touched after `position`, asked once for every query.
  func touched(after position: Int64, in model: Model) throws(StoreError) -> TouchedObjects {
    if position == token.position { return TouchedObjects(Touches(), in: model) }
    if let known = touches[position] { return known }
    let found = TouchedObjects(try moment.touches(after: position), in: model)
    touches[position] = found
    return found
  }
}
