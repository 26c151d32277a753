// Structures → entities of a model with the attributes that they declare, and problems for what a model
// cannot have.

import FetchModel

/// Collects the entities of structures, from the key paths and the types of their properties.
struct StructureReader {
  private(set) var entities: [ModelFile.Entity] = []
  private(set) var problems: [ModelFileProblem] = []
  /// A problem for each structure whose `id` is no integer.
  private(set) var idProblems: [ModelFileProblem] = []

  /// - Parameter types: those that are classes of managed objects are left out.
  init(_ types: [any Fetchable.Type]) {
    for type in types where !(type is any ManagedEntity.Type) { add(type) }
  }

  private mutating func add(_ structure: any Fetchable.Type) {
    let place = "entities/\(structure.entityName)"
    guard let provider = structure as? any PredicateKeyPathProviding.Type else {
      problems.append(
        ModelFileProblem(
          place,
          "`\(structure)` declares no attributes: a structure does so by `@Entity` or "
            + "`PredicateKeyPathProviding`"))
      return
    }
    var entity = ModelFile.Entity(name: structure.entityName)
    for (path, name) in provider.predicateKeyPaths.sorted(by: { $0.value < $1.value }) {
      let valueType = type(of: path).valueType
      let stored = AttributeType(of: valueType)
      if name == "id" {
        if stored != .integer {
          idProblems.append(ModelFileProblem("\(place)/id", "ids of a model are whole numbers"))
        }
        continue
      }
      // A name with a dot belongs to a related object.
      guard !name.contains("."), !entity.attributes.contains(where: { $0.name == name }) else {
        continue
      }
      var attribute = ModelFile.Attribute(
        name: name, type: stored.map(ModelFile.AttributeType.init) ?? .transformable)
      attribute.narrow(to: valueType)
      attribute.isOptional = valueType is any AnyOptional.Type
      attribute.className = PropertyLayout.className(of: valueType)
      entity.attributes.append(attribute)
    }
    entities.append(entity)
  }
}
