// Normalized targets of clients' fetches → bound plans, from parameterized plans that were cached.
//
// A parameterized plan is cached when its text arrives for the second time: the text is resolved
// once more, with markers in place of its numbers. The result is checked: with the numbers of the
// current fetch, it must give the plan to which this fetch was resolved.

import Bytes
import FetchModel
import Synchronization

/// The parameterized plans that are known, bounded in number. Any thread may use it.
public final class PlanCache: Sendable {
  private static let mostForms = 1_000

  private struct Table {
    /// nil: a text that makes no form.
    var forms: [String: ParameterizedPlan?] = [:]
    /// Hashes of the texts seen lately, by their last bits.
    var seen = [Int](repeating: 0, count: 1 << 12)
  }

  private let resolver: FetchResolver
  // Guards the table; resolving happens outside.
  private let table = Mutex(Table())

  /// Makes an empty cache. `resolver` resolves each text for the second time.
  public init(resolver: FetchResolver) { self.resolver = resolver }

  /// The plan of a target whose text was resolved before, with the target's own numbers; nil if
  /// none is cached.
  public func fetch(_ target: NormalizedTarget) -> BoundPlan? {
    table.withLock { $0.forms[target.text] }??.filled(with: target.numbers)
  }

  /// Caches the parameterized plan of a target that was resolved to `plan`, if the target's text
  /// arrives repeatedly.
  ///
  /// - Parameter entity: the entity that the target's path names.
  public func insert(_ target: NormalizedTarget, entity: String, plan: FetchPlan) {
    guard isRepeated(target.text) else { return }
    let form = form(of: target, entity: entity)
    let isTrue = form?.filled(with: target.numbers)?.plan == plan
    table.withLock { table in
      if table.forms.count >= Self.mostForms { table.forms.removeAll() }
      table.forms.updateValue(isTrue ? form : nil, forKey: target.text)
    }
  }

  /// True if `text` was seen recently and has no entry in the cache.
  private func isRepeated(_ text: String) -> Bool {
    let hash = text.hashValue
    return table.withLock { table in
      let place = hash & (table.seen.count - 1)
      defer { table.seen[place] = hash }
      return table.seen[place] == hash && table.forms[text] == nil
    }
  }

  private func form(of target: NormalizedTarget, entity: String) -> ParameterizedPlan? {
    let markers = target.numbers.map(Marker.init)
    let marked = target.target(with: markers.map(\.text))
    guard let mark = marked.utf8.firstIndex(of: UInt8(ascii: "?")),
      let items = try? PercentEncoding.decodeQuery(marked[marked.utf8.index(after: mark)...]),
      let request = try? FetchRequest(entity: entity, query: items),
      let plan = try? resolver.resolve(request), !plan.isNondeterministic
    else { return nil }
    return ParameterizedPlan(plan, resolvedWith: markers.map(\.value), in: resolver.model)
  }
}

/// A number that no client writes, of the same kind as another.
private struct Marker {
  let text: String
  let value: Value

  init(for number: Value) {
    if case .double = number {
      let whole = Int64.random(in: 1 << 40..<1 << 41)
      text = "\(whole).5"
      value = .double(Double(whole) + 0.5)
    } else {
      let integer = Int64.random(in: 1 << 50..<1 << 51)
      text = "\(integer)"
      value = .integer(integer)
    }
  }
}
