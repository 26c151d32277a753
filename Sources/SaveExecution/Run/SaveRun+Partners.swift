// One-to-one relationships under access rules. The store keeps their inverses, so a change of one end
// also changes other objects: the new partner, the new partner's former one, and the object's own
// former one. Each of them is updated like a member of a to-many relationship.

import FetchModel
import SQLComposer

/// A to-one relationship whose inverse is a to-one relationship.
private struct OneToOne {
  let name: String
  /// The relationship's place in the entity that has it.
  let place: Int
  /// The column that holds the partner's id.
  let column: Int
  /// The entity that declares the relationship.
  let source: SaveTable
  let destination: SaveTable
  /// Selects the objects of `source` that refer to an object of `destination`, and the reverse.
  let referringToDestination: String
  let referringToSource: String
}

/// Objects at either end of a one-to-one relationship.
private struct Partners {
  var sources: Set<ObjectID> = []
  var destinations: Set<ObjectID> = []
}

extension SaveRun {
  /// Returns the objects that a change may update, before the save, by one-to-one relationships.
  func partners(of index: Int) throws(StoreError) -> [(entity: Int, ids: Set<ObjectID>)] {
    let change = request.changes[index]
    var found: [(entity: Int, ids: Set<ObjectID>)] = []
    for relationship in oneToOnes(of: change.entity) {
      let given = change.values.first { $0.property == .relationship(relationship.place) }
      guard given != nil || change.isReplacement else { continue }
      var new: ObjectID?
      if case .toOne(_, .id(let id)?)? = given?.content { new = id }
      let owner = change.namedID
      var partners = try partners(of: owner, setting: relationship, to: new)
      if let owner { partners.sources.insert(owner) }
      // Also a partner that refers to the object already: the object may be an unreadable one.
      if let new { partners.destinations.insert(new) }
      found.append((relationship.source.index, partners.sources))
      found.append((relationship.destination.index, partners.destinations))
    }
    return found
  }

  /// Returns true if the caller may update the other objects that the one-to-one relationships in
  /// `row` change. Reports a problem if not.
  ///
  /// - Parameters:
  ///   - id: The object that has the relationships; nil if it has yet to be inserted.
  ///   - isReplacement: True if relationships that are not in `row` become nil.
  mutating func mayLink(
    _ table: SaveTable, at index: Int, id: ObjectID?, isReplacement: Bool = false
  ) throws(StoreError) -> Bool {
    guard permissions != nil else { return true }
    for relationship in oneToOnes(of: table.index) {
      guard let value = row[relationship.column] ?? (isReplacement ? .null : nil) else { continue }
      if let key = id.flatMap({ table.key.bindings(of: $0) }) {
        let stored = try connection.row(statements.columns([relationship.column], of: table), key)
        guard let stored, stored != [value] else { continue }
      }
      let new = relationship.destination.key.id(of: [value])
      let partners = try partners(of: id, setting: relationship, to: new)
      for id in partners.destinations.sorted() {
        if id == new, !mayRead(id, of: relationship.destination.index) {
          reportNoSuchObject(relationship.name, relationship.destination, at: index)
        } else {
          _ = mayUpdate(member: id, of: relationship.destination.index, at: index)
        }
      }
      for id in partners.sources.sorted() {
        _ = mayUpdate(member: id, of: relationship.source.index, at: index)
      }
    }
    return progress[index] != .failed
  }

  /// True if a change sets a one-to-one relationship.
  func setsPartners(_ change: Change) -> Bool {
    oneToOnes(of: change.entity).contains { relationship in
      change.values.contains { $0.property == .relationship(relationship.place) }
    }
  }

  /// Returns the objects other than `owner` that the store changes when a relationship of `owner`
  /// is set to `new`.
  private func partners(
    of owner: ObjectID?, setting relationship: OneToOne, to new: ObjectID?
  ) throws(StoreError) -> Partners {
    var partners = Partners()
    if let values = owner.flatMap({ relationship.source.key.bindings(of: $0) }) {
      let rows = try connection.places(relationship.referringToSource, values)
      partners.destinations = Set(rows.map(\.id))
    }
    if let new, let values = relationship.destination.key.bindings(of: new) {
      let rows = try connection.places(relationship.referringToDestination, values)
      partners.sources = Set(rows.map(\.id))
      if let owner { partners.sources.remove(owner) }
      // A partner that refers to the object already stays as it is.
      if partners.destinations.remove(new) == nil { partners.destinations.insert(new) }
    }
    return partners
  }

  private func oneToOnes(of entity: Int) -> [OneToOne] {
    let model = executor.model
    let table = table(entity)
    return zip(table.entity.relationships.indices, table.links).compactMap { place, link in
      let relationship = table.entity.relationships[place]
      guard let link, link.columns.count == 1, let inverse = relationship.inverse else {
        return nil
      }
      let destination = self.table(relationship.destination)
      let back = model.entities[destination.index].relationships[inverse]
      // A subentity inherits the relationship; the inverse leads to the entity that declares it.
      guard let backLink = destination.links[inverse], let forward = back.inverse else {
        return nil
      }
      let source = self.table(back.destination)
      return OneToOne(
        name: relationship.name, place: place, column: link.columns[0], source: source,
        destination: destination,
        referringToDestination: MemberStatements(
          statements: statements, owner: destination, member: source, relationship: inverse
        ).members(link.key),
        referringToSource: MemberStatements(
          statements: statements, owner: source, member: destination, relationship: forward
        ).members(backLink.key))
    }
  }
}
