// One view of a live query: its window and form. Clients with the same view share every answer.

import FetchModel

/// The part of a result that a view shows, and its form.
struct ViewKey: Hashable {
  enum Shape: Hashable {
    case objects, ids
    /// Only the total.
    case count
    /// Only one object.
    case object
    /// The dictionaries of a plan; indirect to keep the key small.
    indirect case dictionaries(FetchPlan)
  }

  let shape: Shape
  let after: OrderKey?
  /// Ranks after the cursor `after`.
  let window: Range<Int>
  /// The number of items of a full window; nil if it is unlimited.
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
    // A quarter of the greatest integer exceeds any result, and sums do not overflow.
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
  /// The plan of its clients, or an equivalent one; nil before the first client.
  var plan: FetchPlan?
  /// By the clients' token, then by ticket.
  var waiters: [Token: [UInt64: any LiveWaiter]] = [:]
  /// Updated while clients wait; nil if it must be recomputed.
  var digest: Digest?
  /// Fingerprints of the dictionaries at the start of each unchanged period: see
  /// ``RowChangeLog/quietStart(of:)``.
  var results = KnownResults()
  /// Diffs to the current state, by start position; nil inside if there is no change.
  var bodies: [HistoryPosition: AnswerBody?] = [:]
  var lastUse: ContinuousClock.Instant
  /// The memory that the plan of dictionaries needs, about.
  private let planSize: Int
  /// The memory that the plan, the cursor and the diffs need.
  var byteCount: Int {
    bodies.values.reduce(256 + planSize + (key.after?.bytes.count ?? 0)) { $0 + ($1?.size ?? 0) }
  }

  init(key: ViewKey, now: ContinuousClock.Instant) {
    self.key = key
    lastUse = now
    if case .dictionaries(let plan) = key.shape {
      planSize =
        plan.definition.predicate.condition.memorySize + (plan.groupedQuery?.memorySize ?? 0)
    } else {
      planSize = 0
    }
  }
}

/// A diff's JSON without its tokens.
struct AnswerBody {
  /// Up to `"from":`.
  let head: [UInt8]
  /// After the token that the diff leads to.
  let tail: [UInt8]
  var to: Token
  /// See ``EncodedDiff/itemCount``.
  var itemCount = 0

  /// The size in bytes, without the tokens.
  var size: Int { head.count + tail.count }

  /// - Parameter isEmpty: true if a wait ended without a change.
  func diff(from: Token, isEmpty: Bool = false) -> EncodedDiff {
    var json: [UInt8] = []
    json.reserveCapacity(head.count + tail.count + 128)
    json.append(contentsOf: head)
    json.append(jsonString: from.description)
    let fromEnd = json.count - 1
    json.append(json: ",\"to\":")
    json.append(jsonString: to.description)
    let toEnd = json.count - 1
    json.append(contentsOf: tail)
    return EncodedDiff(
      json: json, to: to, isEmpty: isEmpty, itemCount: itemCount, fromEnd: fromEnd, toEnd: toEnd)
  }
}
