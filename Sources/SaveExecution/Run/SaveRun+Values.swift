// A change's attributes and to-one relationships → the columns of `row`.

import FetchModel
import SQLComposer

extension SaveRun {
  enum Purpose { case insert, update }

  enum Filling {
    case complete
    /// Problems were reported, or the referenced object's change failed.
    case failed
    /// The change cannot begin before that insert.
    case pending(Int, property: String)
  }

  /// Adds values to `row`. Links to objects that are inserted later go to `later`.
  mutating func fill(
    _ values: [PropertyValue], of change: Int, _ table: SaveTable, for purpose: Purpose
  ) throws(StoreError) -> Filling {
    row.clear()
    later.removeAll(keepingCapacity: true)
    var outcome = Filling.complete
    var hasLinks = false
    for value in values {
      switch value.content {
      case .attribute(let attribute, let value):
        if !fill(attribute, with: value, table, at: change) { outcome = .failed }
      case .toOne: hasLinks = true
      case .toMany: break
      }
    }
    guard hasLinks else { return outcome }
    for value in values {
      guard case .toOne(let relationship, let reference) = value.content else { continue }
      let link = try fill(relationship, with: reference, table, at: change, for: purpose)
      switch (outcome, link) {
      case (.failed, _), (_, .complete): break
      case (_, .failed): outcome = .failed
      case (.complete, .pending): outcome = link
      case (.pending, .pending): break
      }
    }
    return outcome
  }

  private mutating func fill(
    _ attribute: Int, with value: Value, _ table: SaveTable, at change: Int
  ) -> Bool {
    let column = table.attributeColumns[attribute]
    if let transformer = table.entity.attributes[attribute].declaration?.transformer.flatMap({
      executor.model.transformers[$0]
    }) {
      return fill(attribute, with: value, by: transformer, table, at: change)
    }
    if let stored = value.stored(in: table.columns[column]) {
      row.append(stored, to: column)
      return true
    }
    let name = table.entity.attributes[attribute].name
    if [.array, .jsonArray, .short, .byte, .unsigned].contains(table.columns[column].input) {
      report(.wrongType, name, "`\(name)` does not take such a value", at: change)
      return false
    }
    let reason =
      table.columns[column].type == .date
      ? "holds days alone, and this one has a time" : "cannot hold this number in full"
    report(.outOfRange, name, "`\(name)` \(reason)", at: change)
    return false
  }

  private mutating func fill(
    _ attribute: Int, with value: Value, by transformer: ValueTransformer, _ table: SaveTable,
    at change: Int
  ) -> Bool {
    var stored = SQLValue.null
    if case .json(let text) = value {
      guard let json = try? JSON(parsing: Array(text.utf8)),
        let bytes = try? transformer.encode(json)
      else {
        let name = table.entity.attributes[attribute].name
        report(.invalidValue, name, "`\(name)`: the transformer refuses the value", at: change)
        return false
      }
      stored = .blob(bytes)
    }
    row.append(stored, to: table.attributeColumns[attribute])
    return true
  }

  private mutating func fill(
    _ relationship: Int, with reference: ObjectReference?, _ table: SaveTable, at change: Int,
    for purpose: Purpose
  ) throws(StoreError) -> Filling {
    let name = table.entity.relationships[relationship].name
    guard let link = table.links[relationship] else {
      report(.notWritable, name, "`\(name)` cannot be set", at: change)
      return .failed
    }
    guard let reference else { return fill(link, with: nil, name, at: change) }
    switch find(reference, for: change) {
    case .failed:
      progress[change] = .failed
      return .failed
    case .id(let id):
      let destination = self.table(link.destination)
      guard mayRefer(to: id, of: link.destination, by: relationship, at: change) else {
        reportNoSuchObject(name, destination, at: change)
        return .failed
      }
      // An object that is inserted may refer to itself by its id, which is no row's yet.
      let isOwn = table.isModelled && creates(id, of: destination, by: change)
      let values =
        isOwn
        ? destination.key.bindings(of: id) : try values(of: link.key, to: destination, id: id)
      if let values { return fill(link, with: values, name, at: change) }
      reportNoSuchObject(name, destination, at: change)
      return .failed
    case .pending(let insert):
      guard purpose == .update || link.isDeferrable else { return .pending(insert, property: name) }
      later.append((insert, PropertyValue(.toOne(relationship, reference))))
      return purpose == .update ? .complete : fill(link, with: nil, name, at: change)
    }
  }

  /// True if a change inserts the object of `table` with this id, which the client chose.
  private func creates(_ id: ObjectID, of table: SaveTable, by index: Int) -> Bool {
    let change = request.changes[index]
    let created: ObjectID? =
      switch change.operation {
      case .insert: change.id
      case .replace(let replaced): replaced
      default: nil
      }
    guard created == id else { return false }
    return change.entity == table.index
      || table.entity.inheritance.subentities.contains(change.entity)
  }

  /// - Parameter values: nil clears the link.
  private mutating func fill(
    _ link: SaveTable.Link, with values: [SQLValue]?, _ name: String, at change: Int
  ) -> Filling {
    let columns = values == nil ? link.clearable : link.columns
    guard !columns.isEmpty else {
      report(.notOptional, name, "`\(name)` may not be nil", at: change)
      return .failed
    }
    for (index, column) in columns.enumerated() {
      guard row.set(column, to: values?[index] ?? .null) else {
        report(
          .checkFailed, name, "`\(name)` and another property contradict each other", at: change)
        return .failed
      }
    }
    return .complete
  }

  mutating func reportNoSuchObject(_ property: String, _ table: SaveTable, at change: Int) {
    report(
      .noSuchObject, property, "`\(property)` refers to a \(table.entity.name) that does not exist",
      at: change)
  }

  /// Returns the values with which the columns of `key` refer to the object of `table` with `id`;
  /// nil if no such object can be referenced. If the reference is to the key's own columns, the
  /// foreign key constraint checks that the object exists.
  func values(
    of key: ForeignKey, to table: SaveTable, id: ObjectID
  ) throws(StoreError) -> [SQLValue]? {
    guard let keyValues = table.key.bindings(of: id) else { return nil }
    if table.isModelled, try !exists(keyValues, in: table) { return nil }
    guard !key.referencesKey else { return keyValues }
    let columns = key.referenced.compactMap { table.column(named: $0) }
    guard columns.count == key.referenced.count else { return nil }
    let values = try connection.row(statements.columns(columns, of: table), keyValues)
    guard let values else { return key.referenced == table.key.columns ? keyValues : nil }
    return values.contains(.null) ? nil : values
  }

  /// Postpones the links in `later` of a change that has written its row until their objects are
  /// inserted.
  mutating func postponeLinks(of change: Change, at index: Int, id: ObjectID) {
    noteLinks(of: change, at: index, id: id)
    for (insert, value) in later {
      postpone(value, of: index, until: insert, table(change.entity), id: id)
    }
  }
}
