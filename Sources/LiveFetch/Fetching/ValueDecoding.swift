// Items → values, outside of the caller's actor.

/// Decodes the values of large results without occupying an actor.
enum ValueDecoding {
  /// Fewer items are decoded where they are needed, since a change of threads costs more.
  static let leastCount = 100

  /// The elements of items, in their order. O(values).
  @concurrent
  static func decode<Element: Fetchable>(
    _ items: [Item], as type: Element.Type
  ) async -> sending [Result<Element, MaterializationError>] {
    guard let decodable = Element.self as? any Decodable.Type else { return [] }
    return items.map { item in
      Result { () throws(MaterializationError) in try element(item, decodable) }
    }
  }

  private static func element<Element: Fetchable, Value: Decodable>(
    _ item: Item, _ type: Value.Type
  ) throws(MaterializationError) -> Element {
    do throws(UnreadableValue) {
      let value = try ItemCoding.decode(type, from: item.json)
      guard let element = value as? Element else { throw UnreadableValue("is no \(Element.self)") }
      return element
    } catch {
      throw MaterializationError(entity: Element.entityName, id: item.id, reason: error.reason)
    }
  }
}

extension ManagedObjectContext {
  /// Creates the elements of items outside of the caller's actor, in their order; nil if the type
  /// needs the context, or there are few items.
  ///
  /// A `Decodable` type may have a ``Fetchable/materialize(_:in:)`` of its own. Creating the first
  /// element shows whether the default was used.
  func decodedInBackground<Element: Fetchable>(
    _ items: [Item], as type: Element.Type, isolation: isolated (any Actor)?
  ) async -> [Result<Element, MaterializationError>]? {
    guard items.count >= ValueDecoding.leastCount, let first = items.first,
      Element.self is any Decodable.Type, !(Element.self is any ManagedEntity.Type)
    else { return nil }
    _ = try? Element.materialize(first, in: self)
    guard decodedTypes.contains(ObjectIdentifier(type)) else { return nil }
    return await ValueDecoding.decode(items, as: type)
  }
}
