// Property wrappers of declared relationships.

/// A to-one relationship of a managed object: nil, or a ``Fault``, which identifies the object
/// whether or not it is in memory.
///
/// ```swift
/// @ManagedToOne(.mayor) var mayor: Fault<Person>?
///
/// city.mayor = Fault(person)
/// let mayor = try await city.mayor?.materialize()
/// ```
///
/// `inverse` and `deleteRule` are for `ModelFile(of:)` only; a store has its own model.
@propertyWrapper
public struct ToOneRelationship<Key: KeyCodable, Destination: ManagedEntity>: DeclaredProperty {
  let key: Key
  private let inverse: String?
  private let deleteRule: ModelFile.DeleteRule

  /// - Parameters:
  ///   - key: the relationship's key.
  ///   - inverse: the name of the destination's inverse relationship.
  ///   - deleteRule: the effect of the object's deletion on the destination.
  public init(
    _ key: Key, inverse: String? = nil, deleteRule: ModelFile.DeleteRule = .nullify
  ) {
    (self.key, self.inverse, self.deleteRule) = (key, inverse, deleteRule)
  }

  @available(*, unavailable, message: "relationships belong to managed objects")
  public var wrappedValue: Fault<Destination>? {
    get { nil }
    set { _ = newValue }
  }

  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: ReferenceWritableKeyPath<Owner, Fault<Destination>?>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> Fault<Destination>? {
    get { owner.fault(of: owner[keyPath: storage].name) }
    set { owner.setFault(newValue, of: owner[keyPath: storage].name) }
  }

  var name: String { key.rawValue }

  var layout: PropertyLayout {
    PropertyLayout(
      name: name, kind: .toOne(Destination.self), kinds: [.null, .integer, .text],
      inverse: inverse, deleteRule: deleteRule
    ) { json in
      json == .null || ManagedObjectID(json: json) != nil ? nil : "is \(json.kind), not an id"
    }
  }
}

/// A to-many relationship of a managed object: a ``ToManyProxy``, fetched on request.
///
/// ```swift
/// @ManagedToMany(.cities) var cities: ToManyProxy<City>
///
/// country.cities.insert(city)
/// for city in try await country.cities.materialize() { … }
/// ```
///
/// `inverse` and `deleteRule` are for `ModelFile(of:)` only; a store has its own model.
@propertyWrapper
public struct ToManyRelationship<Key: KeyCodable, Destination: ManagedEntity>: DeclaredProperty {
  let key: Key
  private let inverse: String?
  private let deleteRule: ModelFile.DeleteRule

  /// - Parameters:
  ///   - key: the relationship's key.
  ///   - inverse: the name of the destination's inverse relationship.
  ///   - deleteRule: the effect of the object's deletion on its members.
  public init(
    _ key: Key, inverse: String? = nil, deleteRule: ModelFile.DeleteRule = .nullify
  ) {
    (self.key, self.inverse, self.deleteRule) = (key, inverse, deleteRule)
  }

  @available(*, unavailable, message: "relationships belong to managed objects")
  public var wrappedValue: ToManyProxy<Destination> {
    ToManyProxy(owner: ManagedObject(), name: name)
  }

  public static subscript<Owner: ManagedObject>(
    _enclosingInstance owner: Owner,
    wrapped wrapped: KeyPath<Owner, ToManyProxy<Destination>>,
    storage storage: ReferenceWritableKeyPath<Owner, Self>
  ) -> ToManyProxy<Destination> {
    ToManyProxy(owner: owner, name: owner[keyPath: storage].name)
  }

  var name: String { key.rawValue }

  var layout: PropertyLayout {
    PropertyLayout(
      name: name, kind: .toMany(Destination.self), inverse: inverse, deleteRule: deleteRule
    ) { json in
      guard case .array(let ids) = json, ids.allSatisfy({ ManagedObjectID(json: $0) != nil }) else {
        return "is \(json.kind), not a list of ids"
      }
      return nil
    }
  }
}
