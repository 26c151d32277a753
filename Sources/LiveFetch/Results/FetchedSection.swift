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
  public let objects: [Element]

  public var name: String { id.name }
  public var numberOfObjects: Int { objects.count }

  init(_ info: SectionInfo, objects: [Element]) {
    id = SectionIdentifier(info)
    indexTitle = info.indexTitle
    self.objects = objects
  }
}

extension FetchedSection: Sendable where Element: Sendable {}
