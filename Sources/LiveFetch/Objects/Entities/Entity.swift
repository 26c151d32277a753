// One declaration of an entity, by a macro. Built only with the package's trait `Macros`.

#if Macros
  /// Derives what names an entity from the properties of a class or structure: `entityName`, the
  /// enumeration `Key`, the `predicateKeyPaths` of `#Predicate`, and for a class the property wrappers.
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
  /// out. `ModelFile(of:)` is the model that the classes declare.
  ///
  /// - Parameter name: the entity's name; the type's name without it.
  @attached(member, names: named(entityName), named(Key), named(predicateKeyPaths))
  @attached(memberAttribute)
  public macro Entity(_ name: String = "") =
    #externalMacro(module: "LiveFetchMacros", type: "EntityMacro")
#endif
