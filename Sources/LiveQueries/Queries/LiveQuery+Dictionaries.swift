// Dictionaries live: made anew where a touched object can matter, and told as a whole where they
// are others than the client has.
//
// Rows tell whether a touched object can matter: its id and the values of every key path that the
// dictionaries depend on, as far as the predicate held for it before or holds for it now. What the
// client has is known by a fingerprint a position, kept while the engine runs; for any other
// position, also one from before a restart, the dictionaries of the past are asked for.

import Bytes
import FetchModel

extension LiveQuery {
  /// The new dictionaries; nil if they are those at `base`.
  func dictionariesBody(
    of plan: FetchPlan, for view: LiveView, from base: Int64, _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    let (old, new) = (log.quietStart(of: base), log.quietStart(of: context.token.position))
    var before = view.results[old]
    if before != nil, before == view.results[new] { return nil }
    let body = Self.members(of: try context.transaction.dictionaries(of: plan, at: .now))
    let after = ResultFingerprint(body)
    if before == nil {
      let past = try context.transaction.dictionaries(of: plan, at: .past(base))
      before = ResultFingerprint(Self.members(of: past))
    }
    view.results[old] = before
    view.results[new] = after
    if before == after { return nil }
    var tail = AnswerBody.to(context.token)
    tail.append(json: ",\"reset\":true,")
    tail.append(contentsOf: body)
    tail.append(json: "}")
    return AnswerBody(head: entityHead, tail: tail, to: context.token)
  }

  private static func members(of result: GroupedResult) -> [UInt8] {
    var members: [UInt8] = []
    result.appendMembers(to: &members)
    return members
  }

  /// What ends a wait in which nothing changed: no members but the tokens.
  func unchangedDictionariesBody(_ token: Token) -> AnswerBody {
    var tail = AnswerBody.to(token)
    tail.append(json: "}")
    return AnswerBody(head: entityHead, tail: tail, to: token)
  }
}

extension GroupedQuery {
  /// What is asked of rows to see whether the dictionaries may differ: the values of key paths to
  /// one value, and the ways to many, where every touched object matters.
  var observed: (values: [SelectedValue], ways: [PropertyPath]) {
    let values = values.enumerated().map {
      SelectedValue(key: String($0), source: .path($1))
    }
    return (values, ways)
  }
}

/// Bytes as far as they have to be told from others.
struct ResultFingerprint: Hashable {
  private let length: Int
  private var hash = WideFNV1a()

  init(_ bytes: [UInt8]) {
    length = bytes.count
    hash.combine(bytes)
  }
}

/// Fingerprints by position, the latest few.
struct KnownResults {
  private static let capacity = 16
  private var fingerprints: [Int64: ResultFingerprint] = [:]

  subscript(position: Int64) -> ResultFingerprint? {
    get { fingerprints[position] }
    set {
      fingerprints[position] = newValue
      if fingerprints.count > Self.capacity, let oldest = fingerprints.keys.min() {
        fingerprints[oldest] = nil
      }
    }
  }
}
