// Classes of managed objects, and structures → the model file that they declare.

import FetchModel

extension ModelFile {
  /// The model that classes declare, with the classes of all subentities and destinations, and that
  /// structures declare.
  ///
  /// ```swift
  /// let store = try LocalStore.inMemory(ModelFile(of: [City.self, Country.self]))
  /// try Data(ModelFile(of: [City.self]).text).write(to: url)   // for `livefetch serve --model`
  /// ```
  ///
  /// An attribute has the type of its Swift property, an integer its width or bounds (`Int16`, `UInt8`), is
  /// optional if that is, and has its initial value as default. A ``PolymorphicValue``, a `Codable` value
  /// or one with a transformer is `Transformable`. A class that conforms to ``ManagedEntity`` only is
  /// abstract. Two relationships are inverse to each other if one of them states it (`inverse`), or if they
  /// are the only ones between two classes. A class with several relationships to itself has to state the
  /// inverse of each that is to-many. Add validation rules, indexes and access rules to the result.
  ///
  /// A structure declares the attributes of its ``PredicateKeyPathProviding``, which `@Entity` writes, in
  /// alphabetical order and without defaults. Key paths to other objects and `id` are left out. Several
  /// structures of one entity declare it together; where a class declares it, they have to fit the class.
  ///
  /// - Parameter classes: the classes of ``PolymorphicValue``s with their fields, which a store checks in
  ///   each value.
  /// - Throws: `ModelFileError` with every problem, such as a derived attribute without its
  ///   expression, or a class of values that is not among `classes`.
  public init(
    of types: [any Fetchable.Type], classes: [Class] = []
  ) throws(ModelFileError) {
    self.init()
    self.classes = classes
    var reader = ClassReader()
    for case let type as any ManagedEntity.Type in types { reader.add(type) }
    entities = reader.entities()
    let structures = StructureReader(types)
    var problems = reader.problems + structures.problems + structures.idProblems
    let countOfClasses = entities.count
    for structure in structures.entities {
      guard let index = entities.firstIndex(where: { $0.name == structure.name }) else {
        entities.append(structure)
        continue
      }
      if index >= countOfClasses {
        let known = Set(entities[index].attributes.map(\.name))
        entities[index].attributes += structure.attributes.filter { !known.contains($0.name) }
        let required = Set(structure.attributes.lazy.filter { !$0.isOptional }.map(\.name))
        for place in entities[index].attributes.indices
        where required.contains(entities[index].attributes[place].name) {
          entities[index].attributes[place].isOptional = false
        }
      }
      problems += differences(of: structure, from: entities[index], isStructure: true)
    }
    guard problems.isEmpty else { throw ModelFileError(problems) }
    try check()
  }

  /// The differences between what the classes and structures declare and this model, such as an attribute
  /// that the model lacks or that has another type there; empty if they fit. Properties that only the model
  /// has are no difference.
  public func differences(from types: [any Fetchable.Type]) -> [ModelFileProblem] {
    var reader = ClassReader()
    for case let type as any ManagedEntity.Type in types { reader.add(type) }
    let structures = StructureReader(types)
    var problems: [ModelFileProblem] = []
    for entity in reader.entities() { problems += differences(of: entity, isStructure: false) }
    problems += structures.problems
    for entity in structures.entities { problems += differences(of: entity, isStructure: true) }
    return problems
  }

  private func differences(of declared: Entity, isStructure: Bool) -> [ModelFileProblem] {
    guard let entity = entity(named: declared.name) else {
      return [ModelFileProblem("entities/\(declared.name)", "the model has no such entity")]
    }
    return differences(of: declared, from: entity, isStructure: isStructure)
  }

  /// - Parameter isStructure: true if a property may be the ids of a relationship.
  private func differences(
    of declared: Entity, from entity: Entity, isStructure: Bool
  ) -> [ModelFileProblem] {
    let place = "entities/\(entity.name)"
    var problems: [ModelFileProblem] = []
    let attributes = attributes(of: entity.name)
    let relationships = relationships(of: entity.name)
    for attribute in declared.attributes {
      if isStructure, relationships.contains(where: { $0.name == attribute.name }) { continue }
      guard let found = attributes.first(where: { $0.name == attribute.name }) else {
        problems.append(.init("\(place)/attributes/\(attribute.name)", "the model has none"))
        continue
      }
      if found.storedType != attribute.storedType {
        problems.append(
          .init(
            "\(place)/attributes/\(attribute.name)",
            "is \(found.type.rawValue) in the model, and \(attribute.type.rawValue) in Swift"))
      } else if found.isOptional, !attribute.isOptional, found.derivation == nil {
        problems.append(
          .init("\(place)/attributes/\(attribute.name)", "may be nil in the model only"))
      }
    }
    for relationship in declared.relationships {
      let place = "\(place)/relationships/\(relationship.name)"
      guard let found = relationships.first(where: { $0.name == relationship.name }) else {
        problems.append(.init(place, "the model has none"))
        continue
      }
      if found.isToMany != relationship.isToMany {
        problems.append(.init(place, "is \(found.isToMany ? "to-many" : "to-one") in the model"))
      }
      if found.destination != relationship.destination {
        problems.append(.init(place, "leads to `\(found.destination)` in the model"))
      }
    }
    return problems
  }
}

/// Collects the entities of classes.
private struct ClassReader {
  private var layouts: [EntityLayout] = []
  private var parents: [String: String] = [:]
  private(set) var problems: [ModelFileProblem] = []

  mutating func add(_ type: any ManagedEntity.Type) {
    guard !layouts.contains(where: { $0.entityName == type.entityName }) else { return }
    let layout = EntityLayout(type)
    layouts.append(layout)
    for sub in type.subentities where sub != type {
      parents[sub.entityName] = type.entityName
      add(sub)
    }
    for destination in layout.properties.compactMap(\.destination) { add(destination) }
  }

  mutating func entities() -> [ModelFile.Entity] {
    layouts.map { layout in
      var entity = ModelFile.Entity(name: layout.entityName)
      entity.parent = parents[layout.entityName]
      entity.isAbstract = !(layout.type is any ManagedObjectType.Type)
      let inherited = layouts.first { $0.entityName == entity.parent }
      for property in layout.properties where inherited?[property.name] == nil {
        if property.destination != nil {
          entity.relationships.append(relationship(property, of: layout))
        } else {
          entity.attributes.append(attribute(property, of: layout))
        }
      }
      return entity
    }
  }

  private mutating func attribute(
    _ property: PropertyLayout, of layout: EntityLayout
  ) -> ModelFile.Attribute {
    let type = property.type.map(ModelFile.AttributeType.init) ?? .transformable
    var attribute = ModelFile.Attribute(name: property.name, type: type)
    if let valueType = property.valueType { attribute.narrow(to: valueType) }
    attribute.isOptional = property.problem(.null) == nil
    attribute.className = property.className
    // An initial value that differs between objects, such as `UUID()`, is not a default of the model.
    if case .attribute(let initial?) = property.kind, initial != .null,
      EntityLayout.initialValues(of: layout.type.init())[property.name] == initial
    {
      attribute.defaultValue = initial
    }
    if property.isDerived {
      attribute.derivation = property.derivation.flatMap { Derivation($0) }
      if attribute.derivation == nil {
        problems.append(
          .init(
            "entities/\(layout.entityName)/attributes/\(property.name)/derivation",
            "a derived attribute needs its expression: `@ManagedDerived(.count, from: \"items.@count\")`"
          ))
      }
    }
    return attribute
  }

  private mutating func relationship(
    _ property: PropertyLayout, of layout: EntityLayout
  ) -> ModelFile.Relationship {
    let destination = property.destination?.entityName ?? ""
    var relationship = ModelFile.Relationship(name: property.name, destination: destination)
    relationship.isToMany = property.isToMany
    relationship.deleteRule = property.deleteRule
    relationship.inverse = inverse(of: property, layout)
    if relationship.isToMany, destination == layout.entityName, relationship.inverse == nil,
      let other = otherWithoutInverse(property, layout)
    {
      problems.append(
        .init(
          "entities/\(layout.entityName)/relationships/\(property.name)/inverse",
          "`\(layout.entityName)` has another relationship to itself, `\(other.name)`: state the "
            + "inverse, `@ManagedToMany(.\(property.name), inverse: \"\(other.name)\")`"))
    }
    return relationship
  }

  /// Another relationship of a class to itself without an inverse; it may be meant to be the inverse.
  private func otherWithoutInverse(
    _ property: PropertyLayout, _ layout: EntityLayout
  ) -> PropertyLayout? {
    layout.properties.first { other in
      other.name != property.name && other.destination?.entityName == layout.entityName
        && inverse(of: other, layout) == nil
    }
  }

  /// The inverse relationship: the one that either side states, or the only one between two classes.
  private func inverse(of property: PropertyLayout, _ layout: EntityLayout) -> String? {
    if let inverse = property.inverse { return inverse }
    guard let name = property.destination?.entityName,
      let destination = layouts.first(where: { $0.entityName == name })
    else { return nil }
    func between(_ from: EntityLayout, _ to: EntityLayout) -> [PropertyLayout] {
      from.properties.filter { $0.destination?.entityName == to.entityName }
    }
    let back = between(destination, layout)
    if let declared = back.first(where: { $0.inverse == property.name }) { return declared.name }
    guard name != layout.entityName, back.count == 1, between(layout, destination).count == 1,
      back[0].inverse == nil
    else { return nil }
    return back[0].name
  }
}
