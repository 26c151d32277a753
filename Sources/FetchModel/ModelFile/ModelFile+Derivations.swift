// A model → its derived attributes in the order in which their values can be computed, and the attribute
// that each of them is derived from.

extension ModelFile {
  /// An attribute, identified by the entity that declares it.
  package struct DeclaredAttribute: Hashable, Sendable {
    package let entity: String
    package let name: String
  }

  /// The attributes whose derived values are stored. Each follows those that it is derived from.
  package var derivedAttributes: [(attribute: DeclaredAttribute, derivation: Derivation)] {
    let all = entities.flatMap { entity in
      entity.attributes.compactMap { attribute in
        attribute.isTransient
          ? nil
          : attribute.derivation.map { derivation in
            (
              attribute: DeclaredAttribute(entity: entity.name, name: attribute.name),
              derivation: derivation
            )
          }
      }
    }
    // The sort keeps the order of attributes with as many steps.
    return all.map { (steps: derivations(below: $0.attribute), value: $0) }
      .sorted { $0.steps < $1.steps }.map(\.value)
  }

  /// Returns the number of attributes between this one and one that is not derived. A chain that leads
  /// back to itself, which no valid model has, ends too.
  private func derivations(below attribute: DeclaredAttribute) -> Int {
    var seen: Set<DeclaredAttribute> = [attribute]
    var next = source(of: attribute)
    while let attribute = next, seen.insert(attribute).inserted { next = source(of: attribute) }
    return seen.count
  }

  /// Returns the attribute with the entity that declares it; nil if neither the entity nor an ancestor
  /// does.
  func declaredAttribute(_ name: String, of entity: String) -> DeclaredAttribute? {
    lineage(of: entity).first { $0.attributes.contains { $0.name == name } }
      .map { DeclaredAttribute(entity: $0.name, name: name) }
  }

  /// Returns the derivation of an attribute; nil if it has none or the model does not declare it.
  package func derivation(of attribute: DeclaredAttribute) -> Derivation? {
    entity(named: attribute.entity)?.attributes.first { $0.name == attribute.name }?.derivation
  }

  /// Returns the attribute that another one is derived from; nil if it is not derived from one.
  func source(of attribute: DeclaredAttribute) -> DeclaredAttribute? {
    switch derivation(of: attribute) {
    case .text(_, let source)?: return declaredAttribute(source, of: attribute.entity)
    case .path(let names)?: return end(of: names, from: attribute.entity)
    case .sum(let relationship, let summed)?:
      return self.relationship(relationship, of: attribute.entity)
        .flatMap { declaredAttribute(summed, of: $0.destination) }
    case .count?, .now?, nil: return nil
    }
  }

  /// Returns the attribute at the end of a key path; nil for an object.
  private func end(of names: [String], from entity: String) -> DeclaredAttribute? {
    var entity = entity
    for name in names {
      guard let relationship = relationship(name, of: entity) else {
        return declaredAttribute(name, of: entity)
      }
      entity = relationship.destination
    }
    return nil
  }
}
