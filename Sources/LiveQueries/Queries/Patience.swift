// A time that several questions have together: what each of them took is gone for the next.

import FetchModel

/// How long what is to be found out may still take.
struct Patience {
  private var left: Duration

  init(_ limit: Duration) { left = limit }

  /// Runs `body` in what is left.
  mutating func spend<Result>(
    in moment: any ReadTransaction, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let began = ContinuousClock.now
    defer { left -= began.duration(to: .now) }
    return try moment.within(left, body)
  }
}
