// A caller → the access rules as they are for it, resolved once for each set of values.

import FetchModel
import Synchronization

/// The rules of the callers seen, by the values of the rules' variables. Any thread may use it.
final class CallerAccessCache: Sendable {
  /// The most sets of values that are kept; one more removes all of them.
  private static let capacity = 20_000

  private let rules: AccessRules
  private let known = Mutex<[[PredicateArgument?]: CallerAccess]>([:])

  init(_ rules: AccessRules) { self.rules = rules }

  /// Returns the rules as they are for a caller.
  func access(of caller: AccessCaller) -> CallerAccess {
    let values = rules.values(for: caller)
    if let known = known.withLock({ $0[values] }) { return known }
    let access = rules.access(values: values)
    known.withLock { known in
      if known.count >= Self.capacity { known.removeAll() }
      known[values] = access
    }
    return access
  }
}
