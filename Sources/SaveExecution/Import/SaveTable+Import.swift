// The names in an imported file → the columns of a table.

import FetchModel
import SQLComposer

extension SaveTable {
  /// Returns the table of the entity into which rows are imported.
  package static func imported(
    _ name: String, in introspection: Introspection
  ) throws(ImportError) -> SaveTable {
    let model = introspection.model
    guard let index = model.entityIndex(named: name) else {
      let hint = nearestName(to: name, among: model.entities.map(\.name))
      throw .unknownEntity(name: name, hint: hint)
    }
    let table = introspection.schema.entities[index]
    guard !table.isView else { throw .readOnlyEntity(name: name) }
    return SaveTable(index: index, entity: model.entities[index], table: table)
  }

  /// True if a relationship leads to objects in the same table.
  package func refersToItself(in schema: Schema) -> Bool {
    links.contains { $0.map { schema.entities[$0.destination].name == table.name } ?? false }
  }

  /// Returns the columns of the properties that identify existing rows.
  package func key(imported names: [String]) throws(ImportError) -> [Int] {
    var key: [Int] = []
    for name in names {
      guard let column = column(imported: name) else {
        guard name == "id", keyColumns.count > 1 else { throw unknown(name) }
        // The id is made of these.
        let parts = keyColumns.map { propertyNames[$0] }.joined(separator: ",")
        throw .unknownProperty(name: name, hint: parts)
      }
      key.append(column)
    }
    guard key.isEmpty || isUnique(key) else { throw .keyNotUnique(names) }
    return key
  }

  private func isUnique(_ key: [Int]) -> Bool {
    let names = Set(key.map { columns[$0].name })
    return names == Set(keyColumns.map { columns[$0].name })
      || table.uniqueIndexes.contains { index in
        index.condition == nil && index.parts.allSatisfy { $0.column != nil }
          && Set(index.parts.compactMap(\.column)) == names
      }
  }

  /// Returns the names in a file whose values follow from others: computed properties, and the id and
  /// the relationships of which the file has every column, where they are several. An export contains
  /// them.
  package func derivedNames(among names: [String]) -> [String] {
    let given = Set(names.compactMap(column(imported:)))
    return names.filter { name in
      guard let column = column(imported: name) else {
        let parts = name == "id" ? keyColumns : linkColumns(name)
        return parts.count > 1 && given.isSuperset(of: parts)
      }
      // The entity of a row is no derived value: a row of a subentity is imported as one.
      guard !keyColumns.contains(column), column != discriminatorColumn else { return false }
      return columns[column].isGenerated || attribute(inColumn: column)?.isWritable == false
    }
  }

  /// Returns the columns of a to-one relationship; none for another name.
  private func linkColumns(_ name: String) -> [Int] {
    let index = entity.relationships.firstIndex { $0.name == name }
    return index.flatMap { links[$0]?.columns } ?? []
  }

  /// True if the fields of `column` are texts of ids: the only column of the key, or of a relationship
  /// to such a key.
  package func holdsIDs(_ column: Int) -> Bool {
    guard attribute(inColumn: column) == nil else { return false }
    return keyColumns.contains(column)
      || links.contains { link in
        link.map { $0.key.referencesKey && $0.columns.contains(column) } ?? false
      }
  }

  /// Returns the column of each field of a file.
  package func columns(imported names: [String]) throws(ImportError) -> [Int] {
    var result: [Int] = []
    for name in names {
      guard let column = column(imported: name) else { throw unknown(name) }
      guard !columns[column].isGenerated else { throw .notWritable(property: name) }
      guard !result.contains(column) else { throw .repeatedProperty(name) }
      result.append(column)
    }
    return result
  }

  /// Returns the fields of the key's columns, in the key's order.
  package func fields(of key: [Int], in columns: [Int]) throws(ImportError) -> [Int] {
    try key.map { (column) throws(ImportError) in
      guard let field = columns.firstIndex(of: column) else {
        throw .keyNotGiven(propertyNames[column])
      }
      return field
    }
  }

  /// Returns the column that `name` refers to in a file: a property's name, a column's, or either
  /// in another case.
  package func column(imported name: String) -> Int? {
    propertyNames.firstIndex(of: name) ?? column(named: name)
      ?? propertyNames.firstIndex { folded($0) == folded(name) }
      ?? columns.firstIndex { folded($0.name) == folded(name) }
  }

  private func unknown(_ name: String) -> ImportError {
    .unknownProperty(name: name, hint: nearestName(to: name, among: propertyNames))
  }

  /// The attribute whose values `column` holds; nil for the columns of a key or a relationship.
  package func attribute(inColumn column: Int) -> Attribute? {
    attributeColumns.firstIndex(of: column).map { entity.attributes[$0] }
  }

  /// The refusal of a field that its column does not take.
  package func refusal(of field: ImportedField, in column: Int) -> RowRefusal {
    let name = propertyNames[column]
    let type = columns[column].type
    let expectation =
      type == .binary && holdsIDs(column)
      ? "hex in upper case"
      : attribute(inColumn: column)?.importExpectation ?? type.importExpectation
    return RowRefusal(
      property: name, detail: "`\(name)` takes \(expectation), not \(field.shown)")
  }

  /// The refusal of a row whose key has no value.
  package func refusal(ofMissingKey column: Int) -> RowRefusal {
    let name = propertyNames[column]
    return RowRefusal(property: name, detail: "`\(name)` is the key and may not be nil")
  }
}
