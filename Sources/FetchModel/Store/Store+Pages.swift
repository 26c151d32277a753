// A fetch of any length → its snapshot in pages, all from one read transaction.

extension StoreReadTransaction {
  /// Reads the items of a fetch in pages, until `body` returns false. O(items).
  ///
  /// - Parameters:
  ///   - size: The maximum number of items of a page.
  ///   - model: The model of the store.
  public func pages(
    of plan: FetchPlan, size: Int, in model: Model,
    _ body: (EncodedSnapshot) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let cursor = CursorCoder(of: plan.definition, in: model)
    var page = plan
    var left = plan.window.limit ?? .max
    while left > 0 {
      page.window = Window(
        offset: page.window.offset, limit: min(size, left), after: page.window.after)
      let snapshot = try snapshot(of: page)
      guard try body(snapshot) else { return }
      left -= size
      guard let json = try? JSON(result: snapshot.json) else {
        throw .failed("a page cannot be read")
      }
      guard let text = json["next"]?.string else { return }
      guard let next = cursor.decode(text) else { throw .failed("a page's cursor cannot be read") }
      page.window = Window(limit: size, after: next)
    }
  }
}
