// One declaration of an entity, by a macro. Built only with the package's trait `Macros`.

#if Macros
  /// Derives what names an entity from the properties of a class or structure: `entityName`, the
  /// enumeration `Key`, the key paths of `#Predicate` (``PredicateKeyPathProviding``), and for a class the
  /// property wrappers.
  ///
  /// ```swift
  /// @Entity final class City: ManagedObject, ManagedObjectType {
  ///   var name = ""                       // @Managed(.name)
  ///   var population: Int?                // @Managed(.population)
  ///   var country: Fault<Country>?        // @ManagedToOne(.country)
  ///   var districts: ToManyProxy<District>
  ///   @ManagedDerived(.area, from: "districts.area.@sum") var area: Double?
  /// }
  ///
  /// @Entity struct CityRow: Codable, Fetchable, Identifiable { … }
  /// ```
  ///
  /// A property with an attribute of its own keeps it. Static, lazy and computed properties are left
  /// out, and those with ``Transient()``. The `CodingKeys` of a structure, if it declares them, are the
  /// names in the store; if one is a key path such as `author.name`, requests select all of them.
  /// `ModelFile(of:)` is the model that the classes and structures declare.
  ///
  /// A class inherits from ``ManagedObject`` directly and states ``ManagedObjectType`` itself, as a
  /// structure states `Codable` and ``Fetchable``: what a declaration states decides about its isolation
  /// in a module whose default is the main actor. Classes that inherit from another entity are refused,
  /// and so are properties within `#if`, unless they are transient.
  ///
  /// - Parameter name: the entity's name; the type's name without it.
  @attached(
    member, names: named(entityName), named(Key), named(predicateKeyPaths), named(CodingKeys),
    named(propertiesToFetch))
  @attached(memberAttribute)
  @attached(extension, conformances: PredicateKeyPathProviding)
  public macro Entity(_ name: String = "") =
    #externalMacro(module: "LiveFetchMacros", type: "EntityMacro")

  /// Leaves a property out of an entity: it is neither fetched nor saved. In a structure it needs an
  /// initial value.
  @attached(peer)
  public macro Transient() = #externalMacro(module: "LiveFetchMacros", type: "TransientMacro")
#endif
