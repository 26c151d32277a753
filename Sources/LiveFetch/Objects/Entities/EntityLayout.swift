// The properties that a class and its superclasses declare, found once by reflection of an
// instance.

import FetchModel

/// A property wrapper of a managed object.
protocol DeclaredProperty {
  var layout: PropertyLayout { get }
}

/// One declared property.
struct PropertyLayout {
  enum Kind {
    /// - Parameter initial: the default value, which is saved; nil if there is none.
    case attribute(initial: JSON?)
    case toOne(any ManagedEntity.Type)
    case toMany(any ManagedEntity.Type)
  }

  let name: String
  let kind: Kind
  /// The kinds of values that fit without a further look.
  var kinds: ItemValue.Kinds = []
  /// The type of an attribute's stored values, if its Swift type determines it.
  var type: AttributeType?
  /// The Swift type of an attribute without a transformer.
  var valueType: Any.Type?
  /// True for an attribute that the store computes.
  var isDerived = false
  /// The expression of a derived attribute, if the declaration has one.
  var derivation: String?
  /// The name of the base class of an attribute's polymorphic values.
  var className: String?
  /// The name of a relationship's inverse, if the declaration has one.
  var inverse: String?
  /// The effect of a deletion on a relationship's objects.
  var deleteRule = ModelFile.DeleteRule.nullify
  /// Returns why a stored value does not fit this property; nil if it does.
  let problem: (JSON) -> String?

  func problem(with value: ItemValue) -> String? {
    kinds.contains(value.kind) ? nil : problem(value.json)
  }

  var destination: (any ManagedEntity.Type)? {
    switch kind {
    case .attribute: nil
    case .toOne(let type), .toMany(let type): type
    }
  }

  var isToMany: Bool { if case .toMany = kind { true } else { false } }
}

/// The declaration of a class of managed objects.
final class EntityLayout {
  let type: any ManagedEntity.Type
  let entityName: String
  /// The root class; ids are unique among its objects.
  let root: ObjectIdentifier
  /// In the order of declaration, superclasses first, without duplicates.
  let properties: [PropertyLayout]
  private let indexes: [String: Int]

  init(_ type: any ManagedEntity.Type) {
    self.type = type
    entityName = type.entityName
    let (declared, root) = Self.declarations(of: type.init())
    var properties: [PropertyLayout] = []
    var indexes: [String: Int] = [:]
    for property in declared where indexes[property.name] == nil {
      indexes[property.name] = properties.count
      properties.append(property)
    }
    self.root = root.map { ObjectIdentifier($0) } ?? ObjectIdentifier(type)
    self.properties = properties
    self.indexes = indexes
  }

  subscript(name: String) -> PropertyLayout? { indexes[name].map { properties[$0] } }

  /// The names of the properties in an item: all except to-many relationships.
  var itemNames: [String] { properties.filter { !$0.isToMany }.map(\.name) }

  /// The initial values of a new object, as its class declares them: each object has its own `UUID()`.
  static func initialValues(of object: AnyObject) -> [String: JSON] {
    var values: [String: JSON] = [:]
    for property in declarations(of: object).properties where values[property.name] == nil {
      if case .attribute(let initial?) = property.kind { values[property.name] = initial }
    }
    return values
  }

  /// The properties that an object's classes declare, those of superclasses first, and the topmost class
  /// that is an entity.
  private static func declarations(
    of object: AnyObject
  ) -> (properties: [PropertyLayout], root: (any ManagedEntity.Type)?) {
    var root: (any ManagedEntity.Type)?
    var levels: [[PropertyLayout]] = []
    var mirror: Mirror? = Mirror(reflecting: object)
    while let level = mirror {
      if let entity = level.subjectType as? any ManagedEntity.Type { root = entity }
      levels.append(level.children.compactMap { ($0.value as? any DeclaredProperty)?.layout })
      mirror = level.superclassMirror
    }
    return (Array(levels.reversed().joined()), root)
  }

  /// Returns why `values` do not form a complete object; nil if they do.
  func problem(in values: ItemValues) -> String? {
    var place = 0
    for property in properties {
      guard let index = values.index(of: property.name, from: place) else {
        if property.isToMany { continue }
        return "`\(property.name)` was not fetched"
      }
      place = index
      if let problem = property.problem(with: values.values[index]) {
        return "`\(property.name)` \(problem)"
      }
    }
    return nil
  }
}
