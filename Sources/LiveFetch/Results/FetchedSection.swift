// A section of fetched elements, as a results controller shows it.

/// What tells sections apart: the value of the section's key path, typed and exact. Two sections may
/// share a name (nil and the empty text do), never an identifier.
public struct SectionIdentifier: Sendable, Hashable {
  /// The value as JSON text.
  public let value: String
  /// The value as text; nil is empty.
  public let name: String

  init(_ info: SectionInfo) {
    value = String(decoding: info.value, as: UTF8.self)
    name = info.name
  }
}

/// One section and its elements.
public struct FetchedSection<Element>: Identifiable {
  public let id: SectionIdentifier
  /// The capitalised first letter of the name.
  public let indexTitle: String
  /// The elements; with a `fetchBatchSize` those that were made so far.
  public let objects: [Element]
  /// How many elements there are, made so far or not.
  public let numberOfObjects: Int

  public var name: String { id.name }

  init(_ info: SectionInfo, objects: [Element], numberOfObjects: Int) {
    id = SectionIdentifier(info)
    indexTitle = info.indexTitle
    self.objects = objects
    self.numberOfObjects = numberOfObjects
  }
}

extension FetchedSection: Sendable where Element: Sendable {}
