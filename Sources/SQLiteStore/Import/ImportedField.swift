// One value of a file that is imported, and why a row of it was refused.

import FetchModel

/// A value as a file has it.
public enum ImportedField {
  /// The record says nothing of it: an insert takes the column's default, an update leaves it.
  case missing
  /// An empty field.
  case null
  /// UTF-8, not checked yet. Valid for the call that it is given to.
  case text(UnsafeBufferPointer<UInt8>)
  /// From a JSON file.
  case json(JSON)
}

/// Why a row was not imported.
public struct RowRefusal: Error, Sendable, Hashable {
  /// The property at fault; nil where it is the whole row.
  public let property: String?
  /// A sentence for the person who imports.
  public let detail: String

  public init(property: String? = nil, detail: String) {
    self.property = property
    self.detail = detail
  }
}

/// Why an import could not begin.
public enum ImportError: Error, Sendable, Hashable {
  case store(StoreError)
  case unknownEntity(name: String, hint: String?)
  /// A view, or a join table.
  case readOnlyEntity(name: String)
  case unknownProperty(name: String, hint: String?)
  /// A generated column.
  case notWritable(property: String)
  /// Two fields of a row for the same property.
  case repeatedProperty(String)
  /// No unique index or primary key is over exactly these properties.
  case keyNotUnique([String])
  /// The key has a property that the file does not give.
  case keyNotGiven(String)
}
