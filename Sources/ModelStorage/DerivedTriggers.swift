// A derived attribute → the triggers that maintain it, and the SQL that recomputes it for all rows.
//
//     country.name          after changes of the object's own link, and of each object on the path
//     cities.@count         after members are added, removed or change their owner
//     cities.@sum.people    the same, and after changes of the summed attribute
//     now()                 after every change of a stored value of the object itself
//
// A statement writes only values that differ, so that no row counts as changed without a change. Where
// transactions run at the same time, a trigger first locks the rows that it reads or updates: the members
// of an object are counted by one transaction at a time, and an object does not change while its value is
// copied.

import FetchModel
import SQLComposer

package struct DerivedTriggers {
  let triggers: ModelTriggers
  /// The derived attribute.
  let key: PropertyKey

  package init(triggers: ModelTriggers, key: PropertyKey) {
    self.triggers = triggers
    self.key = key
  }

  private var tables: ModelTables { triggers.tables }
  private var file: ModelFile { triggers.file }
  private var table: String { triggers.tableName(of: key.entity) }
  private var column: String { quoted(tables.columnNames[key] ?? key.property) }
  private var id: String { ModelTriggers.id }
  private var name: String { "derived_\(table)_\(tables.columnNames[key] ?? key.property)" }

  func statements(_ derivation: Derivation) -> [NamedStatement] {
    switch derivation {
    case .text: []
    case .path(let names): pathTriggers(names)
    case .count(let relationship): memberTriggers(relationship, nil)
    case .sum(let relationship, let attribute): memberTriggers(relationship, attribute)
    case .now: nowTriggers
    }
  }

  /// Returns an UPDATE that computes the value for every row; nil if there is nothing to compute.
  func recomputation(_ derivation: Derivation) -> String? {
    expected(derivation).map { update($0.value, where: $0.rows) }
  }

  /// Returns a query for the rows whose stored value is another one: their number and the ids of the first
  /// ones, a row each; nil if there is nothing to compute.
  func differences(_ derivation: Derivation, limit: Int) -> String? {
    expected(derivation).map { value, rows in
      let isDifferent =
        isRounded(derivation)
        ? "coalesce(abs(\(column) - \(value)) > 1e-9 * (1 + abs(\(value))), \(differs(from: value)))"
        : differs(from: value)
      return """
        SELECT count(*) OVER (), \(id) FROM \(quoted(table)) \
        WHERE \(rows)\(kinds) AND \(isDifferent) ORDER BY \(id) LIMIT \(limit)
        """
    }
  }

  /// True for a sum whose last digits depend on the order of the members and on the version of SQLite.
  private func isRounded(_ derivation: Derivation) -> Bool {
    guard case .sum = derivation else { return false }
    switch file.attributes(of: key.entity).first(where: { $0.name == key.property })?.type {
    case .integer16, .integer32, .integer64: return false
    default: return true
    }
  }

  /// Returns SQL for the value that an attribute should have, and the condition for the rows that should have
  /// one.
  private func expected(_ derivation: Derivation) -> (value: String, rows: String)? {
    switch derivation {
    case .now: nil
    case .text(let function, let source): textValue(function, source)
    case .path(let names): pathValue(names, of: quoted(table)).map { ($0, "TRUE") }
    case .count(let relationship): memberValue(relationship, nil).map { ($0, "TRUE") }
    case .sum(let relationship, let attribute):
      memberValue(relationship, attribute).map { ($0, "TRUE") }
    }
  }

  private func update(_ value: String, where condition: String) -> String {
    """
    UPDATE \(quoted(table)) SET \(column) = \(value) \
    WHERE \(condition)\(kinds) AND \(differs(from: value))
    """
  }

  private func differs(from value: String) -> String { "\(column)\(triggers.isDifferent)\(value)" }

  /// Excludes the objects of other entities in the table.
  private var kinds: String {
    file.root(of: key.entity) == key.entity ? "" : " AND \(tables.membership(of: key.entity))"
  }

  private func textValue(
    _ function: Derivation.TextFunction, _ source: String
  ) -> (value: String, rows: String)? {
    guard let source = tables.column(source, of: key.entity).map(quoted) else { return nil }
    let isOptional = file.attributes(of: key.entity).first { $0.name == key.property }?.isOptional
    return (
      "\(triggers.dialect.functions)livefetch_\(function.rawValue)(\(source))",
      isOptional == true ? "TRUE" : "\(source) IS NOT NULL"
    )
  }

  // MARK: Key paths

  /// One step of the path: the column that it reads in a table.
  private struct Step {
    let table: String
    let column: String
  }

  private func steps(_ names: [String]) -> [Step]? {
    var entity = key.entity
    var steps: [Step] = []
    for name in names {
      guard let column = tables.column(name, of: entity) else { return nil }
      steps.append(Step(table: file.root(of: entity), column: column))
      if let relationship = file.relationship(name, of: entity) {
        entity = relationship.destination
      }
    }
    return steps
  }

  /// Returns SQL for the value that the path reads, starting at the row with this alias.
  private func pathValue(_ names: [String], of alias: String) -> String? {
    guard let steps = steps(names), let first = steps.first else { return nil }
    var value = "\(alias).\(quoted(first.column))"
    for step in steps.dropFirst() {
      // Has an alias, because a path may pass through its own table.
      value = """
        (SELECT p.\(quoted(step.column)) FROM \(quoted(step.table)) AS p WHERE p.\(id) = \(value))
        """
    }
    return value
  }

  private func pathTriggers(_ names: [String]) -> [NamedStatement] {
    guard let steps = steps(names), let value = pathValue(names, of: quoted(table)) else {
      return []
    }
    let own = update(value, where: "\(id) = NEW.\(id)")
    var result = [
      triggers.trigger(
        "\(name)_insert", "AFTER INSERT", on: table, locks(names, after: steps[...]) + [own]),
      triggers.trigger(
        "\(name)_update", "AFTER UPDATE OF \(quoted(steps[0].column))", on: table,
        locks(names, after: steps[...], ifChanged: true) + [own]),
    ]
    for index in steps.indices.dropFirst() {
      result.append(
        triggers.trigger(
          "\(name)_step\(index)", "AFTER UPDATE OF \(quoted(steps[index].column))",
          on: steps[index].table,
          locks(names, after: steps[index...], ifChanged: true)
            + [update(value, where: reaching(steps[..<index]))]))
    }
    return result
  }

  /// Returns the statements that lock the rows that a path reads after the changed row, which is a row
  /// of the table of the first step.
  private func locks(
    _ names: [String], after steps: ArraySlice<Step>, ifChanged: Bool = false
  ) -> [String] {
    guard let first = steps.first else { return [] }
    let column = quoted(first.column)
    let changed = ifChanged ? " AND OLD.\(column)\(triggers.isDifferent)NEW.\(column)" : ""
    var reference = "NEW.\(column)"
    var statements: [String] = []
    for index in steps.indices.dropFirst() {
      let step = steps[index]
      statements += triggers.dialect.lock(
        step.table, "\(id) = \(reference)\(changed)",
        isUpdated(step.table, by: names[index - 1]) ? .update : .read)
      reference =
        "(SELECT \(quoted(step.column)) FROM \(quoted(step.table)) WHERE \(id) = \(reference))"
    }
    return statements
  }

  /// True if triggers update the row to which a relationship is set: it has an inverse to-one
  /// relationship, or attributes that are derived from its members. Of two transactions that both hold
  /// a lock for reading, none could update it.
  private func isUpdated(_ table: String, by relationship: String) -> Bool {
    let entities = file.entities.filter { file.root(of: $0.name) == table }
    let isCounted = entities.flatMap(\.attributes).contains { attribute in
      switch attribute.derivation {
      case .count, .sum: true
      case .text, .path, .now, nil: false
      }
    }
    return isCounted
      || entities.flatMap(\.relationships).contains { $0.inverse == relationship && !$0.isToMany }
  }

  /// Returns the condition for rows from which the path reaches the changed row.
  private func reaching(_ steps: ArraySlice<Step>) -> String {
    var condition = "= NEW.\(id)"
    for step in steps.dropFirst().reversed() {
      condition =
        "IN (SELECT \(id) FROM \(quoted(step.table)) WHERE \(quoted(step.column)) \(condition))"
    }
    return "\(quoted(steps[0].column)) \(condition)"
  }

  // MARK: To-many relationships

  private func memberKey(_ relationship: String) -> PropertyKey? {
    file.key(of: relationship, in: key.entity)
  }

  private func memberValue(_ relationship: String, _ attribute: String?) -> String? {
    guard let member = memberKey(relationship),
      let place = triggers.memberColumn(of: member)
    else { return nil }
    let owner = "m.\(quoted(place.owner)) = \(quoted(table)).\(id)"
    guard let attribute else {
      return "(SELECT count(*) FROM \(quoted(place.table)) AS m WHERE \(owner))"
    }
    guard let destination = file.relationship(relationship, of: key.entity)?.destination,
      let summed = tables.column(attribute, of: destination)
    else { return nil }
    guard place.isJoin, let end = place.member else {
      return
        "(SELECT coalesce(sum(m.\(quoted(summed))), 0) FROM \(quoted(place.table)) AS m WHERE \(owner))"
    }
    let far = quoted(file.root(of: destination))
    return """
      (SELECT coalesce(sum(o.\(quoted(summed))), 0) FROM \(quoted(place.table)) AS m \
      JOIN \(far) AS o ON o.\(id) = m.\(quoted(end)) WHERE \(owner))
      """
  }

  private func memberTriggers(_ relationship: String, _ attribute: String?) -> [NamedStatement] {
    guard let member = memberKey(relationship), let place = triggers.memberColumn(of: member),
      let value = memberValue(relationship, attribute),
      let destination = file.relationship(relationship, of: key.entity)?.destination
    else { return [] }
    let owner = quoted(place.owner)
    let summed = attribute.flatMap { tables.column($0, of: destination) }.map(quoted)
    let changed = [owner] + (place.isJoin ? [] : summed.map { [$0] } ?? [])
    func locked(_ condition: String, if changed: String = "") -> [String] {
      triggers.dialect.lock(table, condition + changed, .update) + [update(value, where: condition)]
    }
    let differences = changed.map { "OLD.\($0)\(triggers.isDifferent)NEW.\($0)" }
    var result = [
      triggers.trigger(
        "\(name)_insert", "AFTER INSERT", on: place.table, when: "NEW.\(owner) IS NOT NULL",
        locked("\(id) = NEW.\(owner)")),
      triggers.trigger(
        "\(name)_update", "AFTER UPDATE OF \(changed.joined(separator: ", "))", on: place.table,
        locked(
          "\(id) IN (OLD.\(owner), NEW.\(owner))",
          if: " AND (\(differences.joined(separator: " OR ")))")),
      triggers.trigger(
        "\(name)_delete", "AFTER DELETE", on: place.table, when: "OLD.\(owner) IS NOT NULL",
        locked("\(id) = OLD.\(owner)")),
    ]
    if place.isJoin, let summed, let end = place.member {
      let owners =
        "\(id) IN (SELECT \(owner) FROM \(quoted(place.table)) WHERE \(quoted(end)) = NEW.\(id))"
      result.append(
        triggers.trigger(
          "\(name)_value", "AFTER UPDATE OF \(summed)", on: file.root(of: destination),
          locked(owners)))
    }
    return result
  }

  // MARK: now()

  private var nowTriggers: [NamedStatement] {
    let lineage = file.lineage(of: key.entity)
    let stored = lineage.flatMap(\.attributes).filter { $0.derivation == nil }
    // PostgreSQL compares no JSON, but its text.
    let json = Set(stored.filter { $0.type == .transformable }.map(\.name))
    let names =
      stored.map(\.name) + lineage.flatMap(\.relationships).filter { !$0.isToMany }.map(\.name)
    let columns = names.compactMap { name in
      tables.column(name, of: key.entity).map { (sql: quoted($0), isJSON: json.contains(name)) }
    }
    let below =
      file.root(of: key.entity) == key.entity
      ? nil : "NEW.\(tables.membership(of: key.entity))"
    let set =
      "UPDATE \(quoted(table)) SET \(column) = \(triggers.dialect.now) WHERE \(id) = NEW.\(id)"
    let insert = triggers.trigger("\(name)_insert", "AFTER INSERT", on: table, when: below, [set])
    guard !columns.isEmpty else { return [insert] }
    let own = columns.map(\.sql)
    let differs = columns.map { column in
      ["OLD", "NEW"].map { row in
        column.isJSON ? "CAST(\(row).\(column.sql) AS TEXT)" : "\(row).\(column.sql)"
      }.joined(separator: triggers.isDifferent)
    }.joined(separator: " OR ")
    return [
      insert,
      triggers.trigger(
        "\(name)_update", "AFTER UPDATE OF \(own.joined(separator: ", "))", on: table,
        when: [below, "(\(differs))"].compactMap { $0 }.joined(separator: " AND "), [set]),
    ]
  }
}
