// The key paths of access rules → the tables and columns that they read. A schema change may give the name
// in a rule to another relationship.

extension Model {
  /// Returns the tables and columns that key paths read, by the text of each: `Note.team.members`.
  func meanings(of paths: Set<PropertyPath>) -> [String: String] {
    Dictionary(
      paths.map { ("\(entities[$0.root].name).\(text(of: $0))", meaning(of: $0)) },
      uniquingKeysWith: { first, _ in first })
  }

  private func meaning(of path: PropertyPath) -> String {
    var entity = path.root
    var places: [String] = []
    for step in path.steps {
      let relationship = entities[entity].relationships[step]
      entity = relationship.destination
      places.append("\(relationship.storage ?? relationship.name) to \(entities[entity].name)")
    }
    if case .attribute(let index) = path.target {
      places.append(entities[entity].attributes[index].name)
    }
    return places.joined(separator: ", ")
  }
}
