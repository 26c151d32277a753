// Resolves `select` and `expand` to the values of an item and the related objects that a response
// includes.

extension FetchResolver {
  func selection(
    of request: FetchRequest, entity: Int
  ) throws(FetchRequestError) -> [SelectedValue] {
    guard let names = request.select else { return defaultSelection(of: entity) }
    var selection: [SelectedValue] = []
    if request.shape != .dictionaries, !names.contains(Inheritance.key) {
      selection += entityName(of: entity)
    }
    for name in names where name != "id" {
      guard !selection.contains(where: { $0.key == name }) else {
        throw .badValue(parameter: "select", detail: "`\(name)` occurs twice")
      }
      selection.append(try selectedValue(name, entity: entity))
    }
    return selection
  }

  /// All attributes and to-one relationships of an entity.
  public func defaultSelection(of entity: Int) -> [SelectedValue] {
    let description = model.entities[entity]
    return entityName(of: entity)
      + description.propertyOrder.compactMap { property in
        switch property {
        case .id: nil
        case .attribute(let index) where description.attributes[index].isHidden: nil
        case .attribute(let index):
          SelectedValue(
            key: description.attributes[index].name,
            source: .path(PropertyPath(root: entity, target: .attribute(index))))
        case .relationship(let index) where !description.relationships[index].isToMany:
          SelectedValue(
            key: description.relationships[index].name,
            source: .path(PropertyPath(root: entity, steps: [index], target: .object)))
        case .relationship: nil
        }
      }
  }

  /// The value `entity` with the name of the item's entity, if `entity` has subentities; otherwise none.
  private func entityName(of entity: Int) -> [SelectedValue] {
    let inheritance = model.entities[entity].inheritance
    guard let discriminator = inheritance.discriminator, !inheritance.subentities.isEmpty else {
      return []
    }
    let path = PropertyPath(root: entity, target: .attribute(discriminator))
    return [SelectedValue(key: Inheritance.key, source: .path(path))]
  }

  private func selectedValue(
    _ name: String, entity: Int
  ) throws(FetchRequestError) -> SelectedValue {
    if name == "@etag" { return SelectedValue(key: name, source: .etag) }
    let path = try keyPath(name, entity: entity, parameter: "select")
    let steps = model.walk(path).relationships
    guard let firstToMany = steps.firstIndex(where: \.isToMany) else {
      return SelectedValue(key: name, source: .path(path))
    }
    guard firstToMany == steps.count - 1, path.target == .object else {
      throw .badValue(
        parameter: "select",
        detail: "`\(name)`: a to-many relationship is allowed only at the end of a key path")
    }
    return SelectedValue(key: name, source: .ids(path))
  }

  func expansion(
    of request: FetchRequest, entity: Int
  ) throws(FetchRequestError) -> [PropertyPath] {
    var paths: [PropertyPath] = []
    for name in request.expand {
      let path = try keyPath(name, entity: entity, parameter: "expand")
      guard !path.steps.isEmpty, path.target == .object else {
        throw .badValue(parameter: "expand", detail: "`\(name)` is not a relationship")
      }
      guard !paths.contains(path) else {
        throw .badValue(parameter: "expand", detail: "`\(name)` occurs twice")
      }
      paths.append(path)
    }
    return paths
  }

  private func keyPath(
    _ text: String, entity: Int, parameter: String
  ) throws(FetchRequestError) -> PropertyPath {
    do {
      return try model.path(text, from: entity)
    } catch {
      throw .unknownKeyPath(parameter: parameter, error: error)
    }
  }
}
