// A fetch's result at one token, as clients hold it.

/// A snapshot of a fetch with `as=objects` or `as=ids`.
public struct ResultSnapshot: Sendable, Hashable {
  /// A section and its items.
  public struct Section: Sendable, Hashable {
    /// The section's name and value.
    public var info: SectionInfo
    /// The items as JSON: objects, or ids with `as=ids`.
    public var items: [[UInt8]]

    /// Makes a section.
    public init(info: SectionInfo, items: [[UInt8]] = []) {
      self.info = info
      self.items = items
    }
  }

  /// The name of the fetch's entity.
  public var entity: String
  /// The token of the snapshot, from which changes can be requested.
  public var token: String
  /// Counts, cursor and digest of the snapshot.
  public var summary: ResultSummary
  /// The sections in order; a single one without a name for a fetch without sections.
  public var sections: [Section]
  /// Related objects; nil without `expand`.
  public var included: Included?

  /// Makes a result snapshot.
  public init(
    entity: String, token: String, summary: ResultSummary, sections: [Section],
    included: Included? = nil
  ) {
    self.entity = entity
    self.token = token
    self.summary = summary
    self.sections = sections
    self.included = included
  }

  /// The digest of these items (`digest=true`). It equals ``ResultSummary/digest`` if no diff
  /// was lost.
  public var digest: String {
    var digest = Digest()
    for section in sections {
      var previous: [UInt8] = []
      for item in section.items {
        let id = Self.id(of: item)
        digest.add(section: section.info.value, previous: previous, id: id)
        previous = id
      }
    }
    return digest.text
  }

  /// The JSON of an item's id.
  static func id(of item: [UInt8]) -> [UInt8] {
    guard item.first == 0x7B, let id = (try? JSON(result: item))?["id"] else { return item }
    return id.bytes
  }
}
