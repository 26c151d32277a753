// How a controller shows its results: which, in which sections, in which order, which part.

/// Filter, sections, order and window of a ``DataStoreResultsController``.
public struct ResultArrangement<Result: InstanceIdentifiable> {
  /// Which results are shown, beside what the request says; nil: all.
  public var filter: ((Result) -> Bool)?
  /// The name of the section that a result stands in; nil: one section for all.
  public var sectionName: ((Result) -> String)?
  /// Whether a section stands before another, by their names; nil: ascending by name.
  public var sectionOrder: ((String, String) -> Bool)?
  /// Whether a result stands before another of its section; nil: as the store gives them, which
  /// also decides between equals.
  public var itemOrder: ((Result, Result) -> Bool)?
  /// The most results; nil: all. What leaves the window is replaced by what stands behind it. A
  /// negative limit or offset is 0.
  public var limit: Int?
  public var offset = 0

  public init(
    filter: ((Result) -> Bool)? = nil, sectionName: ((Result) -> String)? = nil,
    sectionOrder: ((String, String) -> Bool)? = nil, itemOrder: ((Result, Result) -> Bool)? = nil,
    limit: Int? = nil, offset: Int = 0
  ) {
    self.filter = filter
    self.sectionName = sectionName
    self.sectionOrder = sectionOrder
    self.itemOrder = itemOrder
    self.limit = limit
    self.offset = offset
  }
}

/// A result with what places it.
struct PlacedResult<Result: InstanceIdentifiable> {
  var result: Result
  let section: String
  let sequence: Int

  var id: Result.InstanceID { result.instanceID }
}

extension ResultArrangement {
  typealias Placed = PlacedResult<Result>

  /// The result where it is shown; nil where it is not.
  func place(_ entry: StoredResults<Result>.Entry) -> Placed? {
    guard filter?(entry.result) ?? true else { return nil }
    return Placed(
      result: entry.result, section: sectionName?(entry.result) ?? "", sequence: entry.sequence)
  }

  func precedes(_ left: Placed, _ right: Placed) -> Bool {
    isDecided(left, right) ?? (left.sequence < right.sequence)
  }

  /// Whether neither section nor order tells the two apart.
  func isSamePlace(_ left: Placed, _ right: Placed) -> Bool { isDecided(left, right) == nil }

  private func isDecided(_ left: Placed, _ right: Placed) -> Bool? {
    if left.section != right.section {
      if sectionOrder?(left.section, right.section) == true { return true }
      if sectionOrder?(right.section, left.section) == true { return false }
      return left.section < right.section
    }
    guard let itemOrder else { return nil }
    if itemOrder(left.result, right.result) { return true }
    return itemOrder(right.result, left.result) ? false : nil
  }

  /// The window of results in order.
  func window(of ordered: [Placed]) -> ArraySlice<Placed> {
    let start = min(max(0, offset), ordered.count)
    return ordered[start...].prefix(max(0, limit ?? .max))
  }

  /// Two ascending runs as one.
  func merged(_ left: [Placed], _ right: [Placed]) -> [Placed] {
    guard !right.isEmpty else { return left }
    var merged: [Placed] = []
    merged.reserveCapacity(left.count + right.count)
    var next = 0
    for element in left {
      while next < right.count, precedes(right[next], element) {
        merged.append(right[next])
        next += 1
      }
      merged.append(element)
    }
    return merged + right[next...]
  }
}
