// Text → `PropertyPath`, for all key paths except those in predicates, whose resolver reports byte
// offsets.

/// The reason why a key path's text is invalid.
public struct KeyPathError: Error, Sendable, Hashable {
  /// The name that was not found.
  public let name: String
  /// The entity that has no such property.
  public let entity: String
  /// The most similar name of that entity; nil if none is similar.
  public let hint: String?

  /// - Parameter name: only its first 100 characters are kept.
  init(name: some StringProtocol, entity: String, hint: String?) {
    (self.name, self.entity, self.hint) = (String(name.prefix(100)), entity, hint)
  }
}

extension Model {
  /// Finds a key path's properties: names or aliases separated by dots, starting at the entity with
  /// the index `root`. Shorter names take precedence over names that contain dots themselves.
  ///
  /// - Throws: ``KeyPathError`` for an unknown name, for a name after an attribute, and for more than
  ///   ``PredicateLimits/depth`` names.
  public func path(_ text: String, from root: Int) throws(KeyPathError) -> PropertyPath {
    var entity = root
    var steps: [Int] = []
    var target = PropertyPath.Target.object
    let names = text.split(
      separator: ".", maxSplits: PredicateLimits.depth, omittingEmptySubsequences: false
    ).map(String.init)
    guard names.count <= PredicateLimits.depth else {
      throw KeyPathError(name: text, entity: entities[root].name, hint: nil)
    }
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
        // An attribute has nothing after it: the whole rest is the name that is not there.
        let name = (property == nil ? name : rest).joined(separator: ".")
        throw KeyPathError(
          name: name, entity: entities[entity].name, hint: nearestName(to: name, among: names))
      }
    }
    return PropertyPath(root: root, steps: steps, target: target)
  }

  /// Returns the attribute that represents a field of a transformable attribute:
  /// `skill.justicePower`.
  private func field(_ names: ArraySlice<String>, of entity: Int) -> Int? {
    guard names.count > 1 else { return nil }
    let property = entities[entity].property(named: names.joined(separator: "."))
    return if case .attribute(let index)? = property { index } else { nil }
  }
}

extension Entity {
  /// Returns the property named by the first of `names`, or by the first few joined by dots, and
  /// these names.
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
