// Normalized targets of clients' fetches → bound plans, from parameterized plans that were cached.
//
// A parameterized plan is cached when its text arrives for the second time: the text is resolved
// once more, with a parameter in place of each number. The result is checked: with the numbers of
// the current fetch, it must give the plan to which this fetch was resolved. Callers whose access rules
// differ only in their own values share the plan with these rules, too.

import Bytes
import FetchModel
import Synchronization

/// The parameterized plans that are known, bounded in number. Any thread may use it.
public final class PlanCache: Sendable {
  private static let maxPlans = 1_000

  private struct Table {
    /// nil: a text that makes no parameterized plan.
    var plans: [String: ParameterizedPlan?] = [:]
    /// Hashes of the texts seen lately, by their last bits.
    var seen = [Int](repeating: 0, count: 1 << 12)
  }

  /// A plan, and access rules that have parameters for their variables.
  private struct Restricted: Hashable {
    let plan: ParameterizedPlan
    let rules: CallerAccess
  }

  private let resolver: FetchResolver
  // Guards the table; resolving happens outside.
  private let table = Mutex(Table())
  /// Cached plans with access rules as a part of them.
  private let restrictedPlans = BoundedCache<Restricted, ParameterizedPlan>()

  /// Makes an empty cache. `resolver` resolves each text for the second time.
  public init(resolver: FetchResolver) { self.resolver = resolver }

  /// The plan of a target whose text was resolved before, with the target's own numbers; nil if
  /// none is cached.
  public func fetch(_ target: NormalizedTarget) -> BoundPlan? {
    table.withLock { $0.plans[target.text] }??.bound(to: target.numbers)
  }

  /// Returns a bound plan under a caller's access rules: one whose parameterized plan is shared by
  /// callers with the same rules; nil if callers cannot share the rules.
  public func restricted(_ bound: BoundPlan, by access: CallerAccess) -> BoundPlan? {
    guard let rules = access.parameterized else { return nil }
    let key = Restricted(plan: bound.parameterized, rules: rules.template)
    let plan = restrictedPlans.value(of: key) {
      bound.parameterized.restricted(by: rules.template)
    }
    return bound.restricted(plan, by: rules)
  }

  /// Caches the parameterized plan of a target that was resolved to `plan`, if the target's text
  /// arrives repeatedly.
  ///
  /// - Parameter entity: the entity that the target's path names.
  public func insert(_ target: NormalizedTarget, entity: String, plan: FetchPlan) {
    guard isRepeated(target.text) else { return }
    let parameterized = parameterizedPlan(of: target, entity: entity)
    let isEqual = parameterized?.bound(to: target.numbers)?.plan == plan
    table.withLock { table in
      if table.plans.count >= Self.maxPlans { table.plans.removeAll() }
      table.plans.updateValue(isEqual ? parameterized : nil, forKey: target.text)
    }
  }

  /// True if `text` was seen recently and has no entry in the cache.
  private func isRepeated(_ text: String) -> Bool {
    let hash = text.hashValue
    return table.withLock { table in
      let place = hash & (table.seen.count - 1)
      defer { table.seen[place] = hash }
      return table.seen[place] == hash && table.plans[text] == nil
    }
  }

  private func parameterizedPlan(of target: NormalizedTarget, entity: String) -> ParameterizedPlan?
  {
    let parameters = target.numbers.enumerated().map { index, number in
      PlanParameter(.text, index: index, number.isInteger ? .integer : .double)
    }
    let text = target.target(with: parameters.map { _ in "%25@" })
    guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")),
      let items = try? PercentEncoding.decodeQuery(text[text.utf8.index(after: mark)...]),
      var request = try? FetchRequest(entity: entity, query: items), request.arguments.isEmpty
    else { return nil }
    request.arguments = parameters.map { .parameter($0) }
    guard let plan = try? resolver.resolve(request), !plan.isNondeterministic else { return nil }
    return ParameterizedPlan(plan, parameterCount: parameters.count, in: resolver.model)
  }
}

extension Value {
  fileprivate var isInteger: Bool {
    if case .integer = self { true } else { false }
  }
}
