// A plan → the columns that its answer hangs on, and what it means for a token that some of them
// are not what they were.

import FetchModel

/// The columns that a fetch looks at.
struct PlanColumns {
  private let history: History
  private let plan: FetchPlan

  init(_ plan: FetchPlan, _ history: History) {
    self.plan = plan
    self.history = history
  }

  /// Whether `plan` goes on from a moment before `changed` were what they are.
  ///
  /// - Parameter changed: whether each column came then, or else came to mean something else.
  func standing(_ changed: [TableColumn: Bool]) -> TokenStanding {
    var strict = plan.definition.paths + plan.expansion + (plan.tabulation?.paths ?? [])
    var widened: [Int] = []
    for (index, value) in plan.selection.enumerated() where showsValues {
      switch value.source {
      case .etag:
        let table = history.schema.entities[plan.definition.entity].name
        if changed.contains(where: { $0.key.table == table && $0.value }) { widened.append(index) }
      case .path(let path) where isOwn(path):
        let touched = columns(of: path).compactMap { changed[$0] }
        if touched.contains(false) { return .expired }
        if !touched.isEmpty { widened.append(index) }
      case .path(let path), .ids(let path): strict.append(path)
      }
    }
    if strict.contains(where: { columns(of: $0).contains { changed[$0] != nil } }) {
      return .expired
    }
    let shown = Set(plan.expansion.flatMap(tables))
    if changed.keys.contains(where: { shown.contains($0.table) }) { return .expired }
    return widened.isEmpty ? .known : .widened(widened)
  }

  private var showsValues: Bool { plan.shape == .objects }

  /// Whether it reads columns of the fetch's own objects alone.
  private func isOwn(_ path: PropertyPath) -> Bool {
    guard let step = path.steps.first else { return true }
    guard path.steps.count == 1, path.target == .object,
      case .foreignKey(let key) = history.schema.entities[path.root].relationships[step]
    else { return false }
    return key.referencesKey
  }

  private func columns(of path: PropertyPath) -> [TableColumn] {
    let schema = history.schema
    var places: [TableColumn] = []
    func add(_ table: String, _ columns: [String]) {
      places += columns.map { TableColumn(table: table, column: $0) }
    }
    var entity = path.root
    for step in path.steps {
      let destination = history.model.entities[entity].relationships[step].destination
      let (own, other) = (schema.entities[entity].name, schema.entities[destination].name)
      switch schema.entities[entity].relationships[step] {
      case .foreignKey(let key):
        add(own, key.columns)
        add(other, key.referenced)
      case .inverse(let key):
        add(other, key.columns + (key.position.map { [$0] } ?? []))
        add(own, key.referenced)
      case .joinTable(let join, let source, let end):
        add(schema.joinTables[join].name, source.columns + end.columns)
      }
      entity = destination
    }
    if case .attribute(let index) = path.target {
      add(schema.entities[entity].name, [schema.entities[entity].column(ofAttribute: index).name])
    }
    return places
  }

  /// The tables of the objects along a path, which are shown whole.
  private func tables(along path: PropertyPath) -> [String] {
    history.model.walk(path).relationships.map { history.schema.entities[$0.destination].name }
  }
}
