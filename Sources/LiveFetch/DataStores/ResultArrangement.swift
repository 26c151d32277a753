// Filter, sections, order and window of a controller.

/// Filter, sections, order and window of a ``DataStoreResultsController``. The closures are called
/// O(n log n) times for n results.
public struct ResultArrangement<Result: InstanceIdentifiable> {
  /// Filters results in addition to the request; nil for all.
  public var filter: ((Result) -> Bool)?
  /// The name of a result's section; nil for one section.
  public var sectionName: ((Result) -> String)?
  /// True if a section precedes another, by name; nil for ascending names.
  public var sectionOrder: ((String, String) -> Bool)?
  /// True if a result precedes another one of its section; nil for the store's order, which also
  /// decides between equal results.
  public var itemOrder: ((Result, Result) -> Bool)?
  /// The maximum number of results; nil for all. If a result leaves the window, the next
  /// result moves up. A negative limit or offset counts as 0.
  public var limit: Int?
  /// The number of results to skip.
  public var offset = 0

  /// - Parameters:
  ///   - filter: returns true for results to show; nil for all.
  ///   - sectionName: returns the section of a result; nil for one section.
  ///   - sectionOrder: true if a section precedes another one.
  ///   - itemOrder: true if a result precedes another one of its section.
  ///   - limit: the maximum number of results; nil for all.
  ///   - offset: the number of results to skip.
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

/// A result with its section and its position in the store's order.
struct PlacedResult<Result: InstanceIdentifiable> {
  var result: Result
  let section: String
  let sequence: Int

  var id: Result.InstanceID { result.instanceID }
}

extension ResultArrangement {
  typealias Placed = PlacedResult<Result>

  /// The result with its section; nil if it is filtered out.
  func place(_ entry: StoredResults<Result>.Entry) -> Placed? {
    guard filter?(entry.result) ?? true else { return nil }
    return placeUnfiltered(entry)
  }

  /// The result with its section, also if it is filtered out.
  func placeUnfiltered(_ entry: StoredResults<Result>.Entry) -> Placed {
    Placed(
      result: entry.result, section: sectionName?(entry.result) ?? "", sequence: entry.sequence)
  }

  func precedes(_ left: Placed, _ right: Placed) -> Bool {
    precedesIfDistinct(left, right) ?? (left.sequence < right.sequence)
  }

  /// True if neither section nor order distinguishes the two.
  func isSamePlace(_ left: Placed, _ right: Placed) -> Bool {
    precedesIfDistinct(left, right) == nil
  }

  /// True or false if section or order distinguishes the two; nil if they do not.
  private func precedesIfDistinct(_ left: Placed, _ right: Placed) -> Bool? {
    if left.section != right.section {
      if sectionOrder?(left.section, right.section) == true { return true }
      if sectionOrder?(right.section, left.section) == true { return false }
      return left.section < right.section
    }
    guard let itemOrder else { return nil }
    if itemOrder(left.result, right.result) { return true }
    return itemOrder(right.result, left.result) ? false : nil
  }

  /// True if the window may be smaller than the results.
  var hasWindow: Bool { limit != nil || offset > 0 }

  /// The part of `ordered` in the window.
  func window(of ordered: [Placed]) -> ArraySlice<Placed> {
    let start = min(max(0, offset), ordered.count)
    return ordered[start...].prefix(max(0, limit ?? .max))
  }
}
