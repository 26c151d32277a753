// Edits of to-many relationships, stored in the members' own columns or in a join table.

import FetchModel
import SQLComposer

/// An edit of one to-many relationship of one object.
private struct Members {
  let change: Int
  let property: String
  /// The to-one relationship of a member that refers to the owner; nil if a join table does.
  let inverse: String?
  let storage: RelationshipStorage
  /// The values of the columns that refer to the owner.
  let owner: [SQLValue]
  let table: SaveTable
  let statements: MemberStatements
}

extension SaveRun {
  /// Makes every membership edit of a change.
  mutating func editMembers(
    of change: Change, at index: Int, id: ObjectID
  ) throws(StoreError) {
    for value in change.values {
      guard case .toMany(let relationship, let edit) = value.content else { continue }
      try editMembers(edit, of: relationship, change: index, table(change.entity), id: id)
    }
  }

  /// Makes one edit. Members that have yet to be inserted are postponed.
  mutating func editMembers(
    _ edit: MemberEdit, of relationship: Int, change: Int, _ table: SaveTable, id: ObjectID
  ) throws(StoreError) {
    let storage = table.table.relationships[relationship]
    let name = table.entity.relationships[relationship].name
    if case .all = edit { noteLink(name, of: table.index, id, by: change) }
    guard let key = storage.ownerKey,
      postponePending(in: edit, of: relationship, change: change, table, id: id)
    else { return }
    guard let owner = try values(of: key, to: table, id: id) else {
      return report(.checkFailed, name, "the object lacks what members refer to", at: change)
    }
    let members = self.members(of: relationship, table, owner: owner, change: change)
    switch edit {
    case .edit(let add, let remove):
      for id in ids(remove, of: change) { try self.remove(id, from: members) }
      for id in ids(add, of: change) { try self.add(id, to: members) }
    case .all(let requested): try setMembers(ids(requested, of: change), of: members)
    }
  }

  private func members(
    of relationship: Int, _ table: SaveTable, owner: [SQLValue], change: Int
  ) -> Members {
    let declared = table.entity.relationships[relationship]
    let destination = self.table(declared.destination)
    let storage = table.table.relationships[relationship]
    var inverse: String?
    if case .inverse = storage {
      inverse = declared.inverse.map { destination.entity.relationships[$0].name }
    }
    return Members(
      change: change, property: declared.name, inverse: inverse, storage: storage, owner: owner,
      table: destination,
      statements: MemberStatements(
        statements: statements, owner: table, member: destination, relationship: relationship))
  }

  /// Postpones the members of an edit that have yet to be inserted, and the order of a list of them.
  /// Returns false if an insert failed.
  private mutating func postponePending(
    in edit: MemberEdit, of relationship: Int, change: Int, _ table: SaveTable, id: ObjectID
  ) -> Bool {
    var last: Int?
    for (reference, isAdded) in edit.parts {
      switch find(reference, for: change) {
      case .id: continue
      case .failed:
        progress[change] = .failed
        return false
      case .pending(let insert):
        let part = MemberEdit.edit(
          add: isAdded ? [reference] : [], remove: isAdded ? [] : [reference])
        postpone(
          PropertyValue(.toMany(relationship, part)), of: change, until: insert, table, id: id)
        last = max(last ?? insert, insert)
      }
    }
    if let last, case .all = edit,
      table.table.relationships[relationship].ownerKey?.position != nil
    {
      postpone(PropertyValue(.toMany(relationship, edit)), of: change, until: last, table, id: id)
    }
    return true
  }

  private mutating func ids(_ references: [ObjectReference], of change: Int) -> [ObjectID] {
    var ids: [ObjectID] = []
    for reference in references {
      if case .id(let id) = find(reference, for: change) { ids.append(id) }
    }
    return ids
  }
}

extension MemberEdit {
  var references: [ObjectReference] { parts.map(\.reference) }

  /// The objects in the order in which the edit removes and adds them.
  fileprivate var parts: [(reference: ObjectReference, isAdded: Bool)] {
    switch self {
    case .all(let all): all.map { (reference: $0, isAdded: true) }
    case .edit(let add, let remove):
      remove.map { (reference: $0, isAdded: false) } + add.map { (reference: $0, isAdded: true) }
    }
  }
}

// MARK: - Permissions

extension SaveRun {
  /// Reports the members that the caller may not add or remove.
  mutating func checkMembers(of change: Change, at index: Int) {
    let table = table(change.entity)
    for case .toMany(let place, let edit) in change.values.map(\.content) {
      let relationship = table.entity.relationships[place]
      let destination = relationship.destination
      var (added, removed, isList): ([ObjectReference], [ObjectReference], Bool)
      switch edit {
      case .all(let all): (added, removed, isList) = (all, [], true)
      case .edit(let add, let remove): (added, removed, isList) = (add, remove, false)
      }
      for id in ids(removed, of: index) where mayRead(id, of: destination) {
        _ = mayUpdate(member: id, of: destination, at: index)
      }
      let ids = ids(added, of: index)
      let unreadable = ids.filter { !mayRead($0, of: destination) }
      if !unreadable.isEmpty {
        reportNoSuchObject(relationship.name, self.table(destination), at: index)
        if isList { continue }
      }
      for id in ids where mayRead(id, of: destination) {
        _ = mayUpdate(member: id, of: destination, at: index)
      }
    }
  }
}

// MARK: - Single members

extension SaveRun {
  private mutating func setMembers(
    _ requested: [ObjectID], of members: Members
  ) throws(StoreError) {
    for id in requested where !mayRefer(to: id, of: members.table.index) {
      return reportNoSuchObject(members.property, members.table, at: members.change)
    }
    // Also what is not added again, because it is a member already, is set by this change.
    if let inverse = members.inverse {
      for id in requested { noteLink(inverse, of: members.table.index, id, by: members.change) }
    }
    let current = try currentMembers(members)
    let kept = Set(requested)
    let removed = current.subtracting(kept).filter { mayRead($0, of: members.table.index) }
    for id in removed.sorted() { try remove(id, from: members) }
    for id in requested where !current.contains(id) { try add(id, to: members) }
    if members.storage.ownerKey?.position != nil, problems.isEmpty {
      try order(requested, of: members)
    }
  }

  private func currentMembers(_ members: Members) throws(StoreError) -> Set<ObjectID> {
    let sql: String
    switch members.storage {
    case .foreignKey: return []
    case .inverse(let key): sql = members.statements.members(key)
    case .joinTable(let join, let source, let destination):
      sql = members.statements.members(
        executor.schema.joinTables[join], from: source, to: destination)
    }
    return Set(try connection.places(sql, members.owner).map(\.id))
  }

  /// Returns the members, before the save, of the to-many relationships for which a change lists
  /// every member.
  func replacedMembers(
    of index: Int
  ) throws(StoreError) -> [(entity: Int, ids: Set<ObjectID>)] {
    let change = request.changes[index]
    let table = table(change.entity)
    var found: [(entity: Int, ids: Set<ObjectID>)] = []
    guard let id = change.namedID else { return [] }
    for case .toMany(let relationship, .all) in change.values.map(\.content) {
      guard let key = table.table.relationships[relationship].ownerKey,
        let owner = try values(of: key, to: table, id: id)
      else { continue }
      let members = self.members(of: relationship, table, owner: owner, change: index)
      found.append((members.table.index, try currentMembers(members)))
    }
    return found
  }

  /// Orders a list of members after the inserts of all of them. Those that later changes have added
  /// come last.
  mutating func orderLater(
    _ requested: [ObjectReference], of relationship: Int, change: Int, _ table: SaveTable,
    id: ObjectID
  ) throws(StoreError) {
    for reference in requested {
      guard case .pending(let insert) = find(reference, for: change) else { continue }
      // This insert waits for another one.
      let list = PropertyValue(.toMany(relationship, .all(requested)))
      return postpone(list, of: change, until: insert, table, id: id)
    }
    guard problems.isEmpty, let key = table.table.relationships[relationship].ownerKey,
      let owner = try values(of: key, to: table, id: id)
    else { return }
    let members = self.members(of: relationship, table, owner: owner, change: change)
    guard let sql = members.statements.places(members.storage, executor.schema) else { return }
    let rows = try connection.places(sql.read, owner)
    let present = Set(rows.map(\.id))
    let listed = ids(requested, of: change).filter { present.contains($0) }
    let added = rows.filter { mayRead($0.id, of: members.table.index) }
      .sorted { ($0.place ?? Int64.max, $0.id) < ($1.place ?? Int64.max, $1.id) }
    try order(listed + added.map(\.id), of: members)
  }

  /// Assigns the members of an ordered relationship positions in the order of `requested`, moving
  /// as few as possible.
  private mutating func order(_ requested: [ObjectID], of members: Members) throws(StoreError) {
    guard let sql = members.statements.places(members.storage, executor.schema) else { return }
    var seen: Set<ObjectID> = []
    let requested = requested.filter { seen.insert($0).inserted }
    let rows = try connection.places(sql.read, members.owner)
    let places = Dictionary(rows.map { ($0.id, $0.place) }, uniquingKeysWith: { first, _ in first })
    let current = requested.map { places[$0] ?? nil }
    for (index, place) in PositionAssigner.assign(current).enumerated()
    where place != current[index] {
      guard let member = try memberValues(requested[index], of: members) else { continue }
      let constraint = try attempt(sql.write, [.integer(place)], then: members.owner + member)
      if let constraint { return report(constraint, editing: members, isAdding: true) }
    }
  }

  /// Returns the values that identify a member's row, or its link's row.
  private func memberValues(
    _ id: ObjectID, of members: Members
  ) throws(StoreError) -> [SQLValue]? {
    switch members.storage {
    case .foreignKey: nil
    case .inverse: members.table.key.bindings(of: id)
    case .joinTable(_, _, let destination):
      try values(of: destination, to: members.table, id: id)
    }
  }

  private mutating func add(_ id: ObjectID, to members: Members) throws(StoreError) {
    guard mayRefer(to: id, of: members.table.index) else {
      return reportNoSuchObject(members.property, members.table, at: members.change)
    }
    guard mayUpdate(member: id, of: members.table.index, at: members.change) else { return }
    if let inverse = members.inverse {
      noteLink(inverse, of: members.table.index, id, by: members.change)
    }
    switch members.storage {
    case .foreignKey: return
    case .inverse(let key): try add(id, to: members, key)
    case .joinTable(let join, let source, let destination):
      guard let member = try values(of: destination, to: members.table, id: id) else {
        return reportNoSuchObject(members.property, members.table, at: members.change)
      }
      let both = members.owner + member
      let sql = members.statements.add(
        executor.schema.joinTables[join], from: source, to: destination)
      if let constraint = try attempt(sql, both, then: both) {
        report(constraint, editing: members, isAdding: true)
      }
    }
  }

  private mutating func add(
    _ id: ObjectID, to members: Members, _ key: ForeignKey
  ) throws(StoreError) {
    guard let member = members.table.key.bindings(of: id) else {
      return reportNoSuchObject(members.property, members.table, at: members.change)
    }
    if members.table.links(key)?.isPartOfKey(members.table) == true {
      return try addFixed(member, to: members, key)
    }
    let sql = members.statements.add(key)
    if let constraint = try attempt(sql, members.owner, then: member + members.owner) {
      return report(constraint, editing: members, isAdding: true)
    }
    guard connection.changedRows == 0, try !exists(member, in: members.table) else { return }
    reportNoSuchObject(members.property, members.table, at: members.change)
  }

  /// Adds a member whose own id contains the reference to its owner.
  private mutating func addFixed(
    _ member: [SQLValue], to members: Members, _ key: ForeignKey
  ) throws(StoreError) {
    guard try exists(member, in: members.table) else {
      return reportNoSuchObject(members.property, members.table, at: members.change)
    }
    let sql = members.statements.has(key)
    guard try !connection.hasRow(sql, member + members.owner) else { return }
    report(
      .notWritable, members.property, "what an object belongs to is part of its permanent id",
      at: members.change)
  }

  private mutating func remove(_ id: ObjectID, from members: Members) throws(StoreError) {
    guard mayRead(id, of: members.table.index),
      mayUpdate(member: id, of: members.table.index, at: members.change)
    else { return }
    switch members.storage {
    case .foreignKey: return
    case .inverse(let key):
      guard let member = members.table.key.bindings(of: id) else { return }
      try remove(member, from: members, key)
    case .joinTable(let join, let source, let destination):
      guard let member = try values(of: destination, to: members.table, id: id) else { return }
      let sql = members.statements.remove(
        executor.schema.joinTables[join], from: source, to: destination)
      if let constraint = try attempt(sql, [], then: members.owner + member) {
        report(constraint, editing: members, isAdding: false)
      }
    }
  }

  private mutating func remove(
    _ member: [SQLValue], from members: Members, _ key: ForeignKey
  ) throws(StoreError) {
    guard let link = members.table.links(key), !link.clearable.isEmpty else {
      let sql = members.statements.has(key)
      guard try connection.hasRow(sql, member + members.owner) else { return }
      return report(
        .notOptional, members.property,
        "a \(members.table.entity.name) cannot be taken out: it may not do without",
        at: members.change)
    }
    let sql = members.statements.remove(link)
    if let constraint = try attempt(sql, [], then: member + members.owner) {
      report(constraint, editing: members, isAdding: false)
    }
  }

  private mutating func report(
    _ constraint: Constraint, editing members: Members, isAdding: Bool
  ) {
    guard constraint.kind != .foreignKey else {
      return isAdding
        ? reportNoSuchObject(members.property, members.table, at: members.change)
        : report(
          .stillReferenced, members.property, "other objects refer to the link",
          at: members.change)
    }
    let problem = problem(constraint, on: members.table)
    report(problem.code, members.property, problem.detail, at: members.change)
  }
}

extension SaveTable {
  /// Returns the link stored in the columns of `key`.
  fileprivate func links(_ key: ForeignKey) -> Link? {
    links.lazy.compactMap { $0 }.first { $0.key == key }
  }
}

extension SaveTable.Link {
  /// True if changing the link would change the object's id.
  fileprivate func isPartOfKey(_ table: SaveTable) -> Bool {
    columns.contains { table.keyColumns.contains($0) }
  }
}
