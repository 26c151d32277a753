// A caller → the access rules as they are for it, resolved once for each set of values.

import FetchModel
import Synchronization

/// The rules of the callers seen, by the values of the rules' variables. Any thread may use it.
final class CallerAccessCache: Sendable {
  /// The maximum number of sets of values that are kept, and of the bytes of the values and the rules. One
  /// more removes all of them.
  private static let capacity = 20_000
  static let maxBytes = 64 << 20
  /// The bytes of the resolved rules of one entity, measured with short conditions.
  private static let bytesPerEntity = 2_048

  private struct Known {
    var accesses: [[PredicateArgument?]: CallerAccess] = [:]
    var bytes = 0
  }

  private let rules: AccessRules
  private let known = Mutex(Known())

  init(_ rules: AccessRules) { self.rules = rules }

  /// The sets of values that are kept, and their bytes.
  var size: (count: Int, bytes: Int) { known.withLock { ($0.accesses.count, $0.bytes) } }

  /// Returns the rules as they are for a caller.
  func access(of caller: AccessCaller) -> CallerAccess {
    let values = rules.values(for: caller)
    if let access = known.withLock({ $0.accesses[values] }) { return access }
    let access = rules.access(values: values)
    let bytes =
      values.reduce(0) { $0 + Self.size(of: $1) }
      + access.model.entities.count * Self.bytesPerEntity
    known.withLock { known in
      if known.accesses.count >= Self.capacity || known.bytes + bytes > Self.maxBytes {
        known = Known()
      }
      known.accesses[values] = access
      known.bytes += bytes
    }
    return access
  }

  private static func size(of value: PredicateArgument?) -> Int {
    switch value {
    case .text(let text): return text.utf8.count
    case .json(let json):
      var bytes: [UInt8] = []
      bytes.append(json: json)
      return bytes.count
    case .parameter, nil: return 0
    }
  }
}
