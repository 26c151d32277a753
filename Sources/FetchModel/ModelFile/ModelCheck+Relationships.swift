// Checks relationships, classes of transformable values, and fetch templates.

// MARK: - Relationships

extension ModelCheck {
  mutating func check(
    _ relationship: ModelFile.Relationship, of entity: ModelFile.Entity, _ place: String
  ) {
    guard model.entity(named: relationship.destination) != nil else {
      return report(
        "\(place)/destination", "there is no entity `\(relationship.destination)`")
    }
    if !relationship.isToMany {
      if relationship.isOrdered { report("\(place)/ordered", "is for to-many alone") }
      if relationship.minimumCount != nil || relationship.maximumCount != nil {
        report("\(place)/minimumCount", "is for to-many alone; use `optional`")
      }
    }
    if let least = relationship.minimumCount, let most = relationship.maximumCount, most > 0,
      least > most
    {
      report("\(place)/maximumCount", "is less than the minimum")
    }
    checkInverse(of: relationship, of: entity, place)
  }

  private mutating func checkInverse(
    of relationship: ModelFile.Relationship, of entity: ModelFile.Entity, _ place: String
  ) {
    guard let name = relationship.inverse else { return }
    let place = "\(place)/inverse"
    guard let inverse = model.relationship(name, of: relationship.destination) else {
      return report(place, "\(relationship.destination) has no relationship `\(name)`")
    }
    let declarer = model.declaringEntity(of: name, in: relationship.destination)
    if declarer != relationship.destination {
      report(
        place,
        "`\(name)` is declared by \(declarer ?? "another entity"), which has to be the destination")
    } else if inverse.inverse != relationship.name || inverse.destination != entity.name {
      report(
        place,
        "`\(relationship.destination).\(name)` does not lead back to `\(entity.name).\(relationship.name)`"
      )
    }
  }
}

// MARK: - Classes and templates

extension ModelCheck {
  mutating func check(_ found: ModelFile.Class) {
    let place = "classes/\(found.name)"
    if let parent = found.parent {
      guard hierarchy[parent] != nil else {
        return report("\(place)/parent", "there is no class `\(parent)`")
      }
      if hierarchy.lineage(of: parent).contains(where: { $0.name == found.name }) {
        return report("\(place)/parent", "`\(found.name)` would inherit from itself")
      }
    }
    var seen = Set(found.parent.map { hierarchy.fields(of: $0).map(\.name) } ?? [])
    for field in found.fields {
      let place = "\(place)/fields/\(field.name)"
      if !seen.insert(field.name).inserted { report(place, "another field has this name") }
      if !Self.isName(field.name) {
        report(place, "a name is letters, digits and _, and does not begin with a digit")
      }
      if case .object(let name) = field.type, hierarchy[name] == nil {
        report("\(place)/type", "`\(name)` is neither a type nor a declared class")
      }
    }
  }

  mutating func check(_ template: ModelFile.FetchTemplate) {
    let place = "fetchTemplates/\(template.name)"
    guard model.entity(named: template.entity) != nil else {
      return report("\(place)/entity", "there is no entity `\(template.entity)`")
    }
    if let text = template.predicate {
      do throws(PredicateError) {
        _ = try Predicate(parsing: text)
      } catch {
        report("\(place)/predicate", "\(error)")
      }
    }
    checkSort(template.sort, of: template.entity, "\(place)/sort")
  }
}
