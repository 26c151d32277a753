// A section of a results controller.

import FetchModel

/// Identifies a section by the typed value of the section key path. A section of a data store is
/// identified by its name. Two sections may have the same name, such as nil and the empty text, but
/// never the same identifier.
public struct SectionIdentifier: Sendable, Hashable {
  /// The value as JSON text.
  public let value: String
  /// The value as text; the empty text for nil.
  public let name: String

  init(_ info: SectionInfo) {
    value = String(decoding: info.value, as: UTF8.self)
    name = info.name
  }
}

/// A section and its elements.
public struct FetchedSection<Element>: Identifiable {
  /// The section's value and name.
  public let id: SectionIdentifier
  /// The capitalised first letter of the name.
  public let indexTitle: String
  /// The elements; with a `fetchBatchSize` those loaded so far. O(1).
  public let objects: [Element]
  /// The number of elements, loaded or not.
  public let numberOfObjects: Int

  /// The section's name.
  public var name: String { id.name }

  init(_ info: SectionInfo, objects: [Element], numberOfObjects: Int) {
    id = SectionIdentifier(info)
    indexTitle = info.indexTitle
    self.objects = objects
    self.numberOfObjects = numberOfObjects
  }

  /// - Parameter name: the name, which is also the value; nil for the only section of a result without
  ///   sections.
  init(named name: String?, _ objects: [Element]) {
    let info =
      name.map { SectionInfo(name: $0, value: JSON.string($0).bytes) } ?? .unsectioned
    self.init(info, objects: objects, numberOfObjects: objects.count)
  }
}

extension FetchedSection: Sendable where Element: Sendable {}
