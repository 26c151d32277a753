// One way of looking at a live query: a window and what is told of it. Clients with the same view
// wait together and share every answer.

import FetchModel

/// What a view shows of a result.
struct ViewKey: Hashable {
  enum Shape: Hashable {
    case objects, ids
    /// The total alone.
    case count
    /// One object alone.
    case object
    /// What the plan makes of the objects, as a whole. Apart: a key is to be small.
    indirect case dictionaries(FetchPlan)
  }

  let shape: Shape
  let after: OrderKey?
  /// Ranks behind `after`.
  let window: Range<Int>
  /// How many items make the window full; nil where it is not limited.
  let limit: Int?
  let isCapped: Bool
  let withTotal: Bool
  let withDigest: Bool

  /// - Parameter only: the only object observed; nil for a fetch.
  init(_ plan: FetchPlan, only: ObjectID?) {
    shape = Self.shape(of: plan, only: only)
    let showsItems = shape == .objects || shape == .ids
    after = showsItems ? plan.window.after : nil
    limit = showsItems ? plan.window.limit.map { max(0, $0) } : nil
    // Half of what an Int holds is more than any result, and sums of two still fit.
    let offset = min(max(0, plan.window.offset), .max / 4)
    let end = limit.map { $0 == 0 ? offset : offset + min($0, .max / 4) } ?? .max / 4 + offset
    window = showsItems ? offset..<end : 0..<0
    isCapped = plan.isCapped && showsItems
    withTotal = plan.withTotal && showsItems || shape == .count
    withDigest = plan.withDigest && showsItems
  }

  private static func shape(of plan: FetchPlan, only: ObjectID?) -> Shape {
    if only != nil { return .object }
    return switch plan.shape {
    case .count: .count
    case .ids: .ids
    case .objects: .objects
    case .dictionaries: .dictionaries(plan)
    }
  }
}

/// The waiting clients of one view and what they share.
final class LiveView {
  let key: ViewKey
  /// What its clients asked, or a plan that is the same; nil before one waited.
  var plan: FetchPlan?
  /// By the token that each client has, by ticket.
  var waiters: [Token: [UInt64: any LiveWaiter]] = [:]
  /// Brought along while clients wait; nil where it has to be summed up anew.
  var digest: Digest?
  /// What dictionaries there were at earlier positions, where nothing happened before: see
  /// ``RowChangeLog/quietStart(of:)``.
  var results = KnownResults()
  /// Answers made for the result as it is now, by the position they start from; nil inside where
  /// there is nothing to tell.
  var bodies: [Int64: AnswerBody?] = [:]
  var lastUse: ContinuousClock.Instant

  init(key: ViewKey, now: ContinuousClock.Instant) {
    self.key = key
    lastUse = now
  }
}

/// A diff's JSON but for the token it starts from.
struct AnswerBody {
  /// Up to `"from":`.
  let head: [UInt8]
  /// Behind the token.
  let tail: [UInt8]
  let to: Token

  /// How many bytes it has.
  var size: Int { head.count + tail.count }

  func json(from: Token) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(head.count + tail.count + 64)
    json.append(contentsOf: head)
    json.append(jsonString: from.description)
    json.append(contentsOf: tail)
    return json
  }
}
