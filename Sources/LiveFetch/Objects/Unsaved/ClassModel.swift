// Derives a model from classes of managed objects, so that predicates can be evaluated in memory.
// It contains declared properties only; predicates over other properties need the store.

import FetchModel
import Foundation

/// The entities reachable from a class.
struct ClassModel {
  let model: Model
  /// The classes, each at the index of its entity.
  let types: [any ManagedEntity.Type]

  /// - Parameters:
  ///   - layout: returns the declared properties of a class.
  ///   - hasTextIDs: returns true if the ids of a class are text.
  init(
    of type: any ManagedEntity.Type, layout: (any ManagedEntity.Type) -> EntityLayout,
    hasTextIDs: (any ManagedEntity.Type) -> Bool
  ) {
    var types: [any ManagedEntity.Type] = [type]
    var indexes = [type.entityName: 0]
    var next = 0
    while next < types.count {
      for destination in layout(types[next]).properties.compactMap(\.destination)
      where indexes[destination.entityName] == nil {
        indexes[destination.entityName] = types.count
        types.append(destination)
      }
      next += 1
    }
    self.types = types
    model = Model(
      entities: types.map { type in
        Self.entity(
          layout(type), idType: hasTextIDs(type) ? .string : .integer, indexes: indexes)
      })
  }

  private static func entity(
    _ layout: EntityLayout, idType: AttributeType, indexes: [String: Int]
  ) -> Entity {
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    for property in layout.properties {
      if let name = property.destination?.entityName, let index = indexes[name] {
        relationships.append(
          Relationship(name: property.name, destination: index, isToMany: property.isToMany))
      } else {
        // Types without an attribute type of their own, such as structures, are stored as JSON.
        let type = property.type ?? .json
        attributes.append(
          Attribute(
            name: property.name, type: type, dateFormat: type == .date ? .unixSeconds : nil))
      }
    }
    return Entity(
      name: layout.entityName, attributes: attributes, relationships: relationships,
      idType: idType)
  }
}

/// The comparison rules of values in memory: those of columns of their types.
struct ClassComparisonRules: ColumnTraits {
  let model: Model

  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
    let entity = model.entities[entity]
    switch property {
    case .id: return comparisonRule(of: entity.idType)
    case .attribute(let index): return comparisonRule(of: entity.attributes[index].type)
    case .relationship(let index):
      return comparisonRule(of: model.entities[entity.relationships[index].destination].idType)
    }
  }

  private func comparisonRule(of type: AttributeType) -> ComparisonRule? {
    switch type {
    case .integer, .boolean: .column(.integer)
    case .double: .column(.real)
    case .decimal, .date: .column(.numeric)
    case .string, .uri: .column(.text)
    case .uuid: .column(.text, encoding: .uuid(.lower))
    case .binary: .column(.blob)
    // Only the store compares JSON.
    case .json: nil
    }
  }
}

extension AttributeType {
  /// The stored type of a Swift type's values; nil if the Swift type does not determine it.
  init?(of type: Any.Type) {
    switch type {
    case is Int.Type, is Int64.Type, is Int32.Type, is Int16.Type, is Int8.Type, is UInt8.Type,
      is UInt16.Type, is UInt32.Type:
      self = .integer
    case is Double.Type, is Float.Type: self = .double
    case is Bool.Type: self = .boolean
    case is String.Type: self = .string
    case is Date.Type, is Instant.Type: self = .date
    case is Decimal.Type: self = .decimal
    case is UUID.Type: self = .uuid
    case is URL.Type: self = .uri
    case is Data.Type: self = .binary
    case let optional as any AnyOptional.Type: self.init(of: optional.wrappedType)
    case let enumeration as any RawRepresentable.Type:
      self.init(of: Self.rawType(enumeration))
    default: return nil
    }
  }

  fileprivate static func rawType<Raw: RawRepresentable>(_ type: Raw.Type) -> Any.Type {
    Raw.RawValue.self
  }
}

extension ModelFile.Attribute {
  /// Takes the width of a Swift integer's type, so that the store refuses what the type does not hold: a
  /// type of the model, or bounds where the model has none. A `Float` stays a double: a store may have
  /// doubles, which differ from what the object read.
  mutating func narrow(to type: Any.Type) {
    switch type {
    case is Int8.Type: narrow(to: .integer16, "-128", "127")
    case is UInt8.Type: narrow(to: .integer16, "0", "255")
    case is Int16.Type: self.type = .integer16
    case is UInt16.Type: narrow(to: .integer32, "0", "65535")
    case is Int32.Type: self.type = .integer32
    case is UInt32.Type: narrow(to: .integer64, "0", "4294967295")
    case let optional as any AnyOptional.Type: narrow(to: optional.wrappedType)
    case let enumeration as any RawRepresentable.Type:
      narrow(to: AttributeType.rawType(enumeration))
    default: break
    }
  }

  private mutating func narrow(
    to type: ModelFile.AttributeType, _ minimum: String, _ maximum: String
  ) {
    self.type = type
    self.minimum = .number(minimum)
    self.maximum = .number(maximum)
  }
}

extension ItemValue.Kinds {
  /// The kinds of values that `AttributeValue` accepts for a type without a further look.
  init(fitting type: Any.Type) {
    switch type {
    case is Int.Type, is Int64.Type: self = .integer
    case is Double.Type, is Float.Type: self = [.integer, .double]
    case is Bool.Type: self = .boolean
    case is String.Type: self = .text
    case let optional as any AnyOptional.Type:
      self = Self(fitting: optional.wrappedType).union(.null)
    default: self = []
    }
  }
}

extension PropertyLayout {
  /// The name of a class of polymorphic values; nil for other types.
  static func className(of type: Any.Type) -> String? {
    switch type {
    case let type as any PolymorphicValue.Type: type.className
    case let optional as any AnyOptional.Type: className(of: optional.wrappedType)
    default: nil
    }
  }
}

/// An optional of any type.
protocol AnyOptional {
  static var wrappedType: Any.Type { get }
  var wrapped: Any? { get }
}

extension Optional: AnyOptional {
  static var wrappedType: Any.Type { Wrapped.self }
  var wrapped: Any? { self }
}
