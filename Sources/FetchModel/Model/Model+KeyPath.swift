// Text → PropertyPath, for everything but predicates (whose resolver tells byte offsets).

/// Why a key path's text names nothing.
public struct KeyPathError: Error, Sendable, Hashable {
  /// The name that the entity reached does not have.
  public let name: String
  /// The entity that was asked for it.
  public let entity: String
  /// The nearest name that it does have.
  public let hint: String?
}

extension Model {
  /// Looks a key path up: names (or aliases) separated by dots, from the entity at index `root`. A
  /// name that has dots itself is found where no shorter one is.
  ///
  /// - Throws: ``KeyPathError`` for a name that is not there, or one behind an attribute.
  public func path(_ text: String, from root: Int) throws(KeyPathError) -> PropertyPath {
    var entity = root
    var steps: [Int] = []
    var target = PropertyPath.Target.object
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    var index = 0
    while index < names.count {
      let rest = names[index...]
      let (name, property) = entities[entity].property(at: rest)
      index += name.count
      let isLast = index == names.count
      switch property {
      case .relationship(let step):
        steps.append(step)
        entity = entities[entity].relationships[step].destination
      case .attribute(let attribute) where isLast: target = .attribute(attribute)
      case .attribute where field(rest, of: entity) != nil:
        let field = field(rest, of: entity) ?? 0
        return PropertyPath(root: root, steps: steps, target: .attribute(field))
      case .id where isLast: target = .object
      default:
        let names = entities[entity].propertyNames
        let name = name.joined(separator: ".")
        throw KeyPathError(
          name: name, entity: entities[entity].name, hint: nearestName(to: name, among: names))
      }
    }
    return PropertyPath(root: root, steps: steps, target: target)
  }

  /// The attribute that stands for a field behind a transformable one: `skill.justicePower`.
  private func field(_ names: ArraySlice<String>, of entity: Int) -> Int? {
    guard names.count > 1 else { return nil }
    let property = entities[entity].property(named: names.joined(separator: "."))
    return if case .attribute(let index)? = property { index } else { nil }
  }
}

extension Entity {
  /// The property that the first of `names` means, or else the first few joined by dots; with the
  /// names that were taken.
  fileprivate func property(
    at names: ArraySlice<String>
  ) -> (names: ArraySlice<String>, property: Property?) {
    for count in 1...max(1, names.count) {
      let taken = names.prefix(count)
      if let property = property(namedOrAliased: taken.joined(separator: ".")) {
        return (taken, property)
      }
    }
    return (names.prefix(1), nil)
  }
}
