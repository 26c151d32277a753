// Diffs of dictionaries. They are recomputed when a changed object may affect them, and sent as a
// whole if they differ from those that the client has.
//
// A changed object may affect them if the predicate holds for it before or after the change, and
// its id or a value of a key path differs that the dictionaries depend on. The client's
// dictionaries are known by a fingerprint per position, kept while the engine runs. For any other
// position, for example one from before a restart, the past dictionaries are queried.

import Bytes
import FetchModel

extension LiveQuery {
  /// Returns the new dictionaries; nil if they equal those at `base`.
  func dictionariesBody(
    of plan: FetchPlan, for view: LiveView, from base: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    let old = passed?.contains(base) == true ? base : log.quietStart(of: base)
    let new = log.quietStart(of: context.token.position)
    var before = view.results[old]
    if before != nil, before == view.results[new] { return nil }
    let result = try context.transaction.dictionaries(of: plan, at: .now)
    let body = Self.members(of: result)
    let after = ResultFingerprint(body)
    if before == nil {
      let past = try context.transaction.dictionaries(of: plan, at: .past(base))
      before = ResultFingerprint(Self.members(of: past))
    }
    view.results[old] = before
    view.results[new] = after
    if before == after { return nil }
    var tail: [UInt8] = []
    tail.append(json: ",\"reset\":true,")
    tail.append(contentsOf: body)
    tail.append(json: "}")
    return AnswerBody(
      head: entityHead, tail: tail, to: context.token, itemCount: result.count)
  }

  private static func members(of result: GroupedResult) -> [UInt8] {
    var members: [UInt8] = []
    result.appendMembers(to: &members)
    return members
  }

  /// Returns the answer to a wait that ends without a change: only the tokens.
  func unchangedDictionariesBody(_ token: Token) -> AnswerBody {
    AnswerBody(head: entityHead, tail: [0x7D], to: token)
  }
}

extension GroupedQuery {
  /// The row values from which a change of the dictionaries is detected: the values of to-one key
  /// paths, and the to-many paths, at which every changed object counts.
  var observed: (values: [SelectedValue], toManyPaths: [PropertyPath]) {
    let values = values.enumerated().map {
      SelectedValue(key: String($0), source: .path($1))
    }
    return (values, toManyPaths)
  }
}

/// Identifies bytes by their length and hash.
struct ResultFingerprint: Hashable {
  private let length: Int
  private var hash = FNV1a64()

  init(_ bytes: [UInt8]) {
    length = bytes.count
    hash.combine(bytes)
  }
}

/// The fingerprints of the newest few positions.
struct KnownResults {
  private static let capacity = 16
  private var fingerprints: [HistoryPosition: ResultFingerprint] = [:]

  subscript(position: HistoryPosition) -> ResultFingerprint? {
    get { fingerprints[position] }
    set {
      fingerprints[position] = newValue
      if fingerprints.count > Self.capacity, let oldest = fingerprints.keys.min() {
        fingerprints[oldest] = nil
      }
    }
  }
}
