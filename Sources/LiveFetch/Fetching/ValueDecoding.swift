// Items → values, outside of the caller's actor.

import FetchModel

/// Builds values from the rows of a fetch while they are read.
protocol RowCollection: SendableMetatype {
  init()
  mutating func add(_ id: ObjectID, _ values: ItemValues)
}

/// The items of a snapshot.
struct ItemRows: RowCollection {
  private(set) var items: [Item] = []

  mutating func add(_ id: ObjectID, _ values: ItemValues) {
    items.append(Item(id: id, values: values))
  }
}

/// The values of a fetch that were decoded by the default ``Fetchable/materialize(_:in:)``.
struct DecodedValues<Element: Fetchable> {
  /// In the order of the fetch, without those that cannot be read.
  fileprivate(set) var elements: [Element] = []
  /// The ids of the elements.
  fileprivate(set) var ids: [ObjectID] = []
  fileprivate(set) var problems: [MaterializationError] = []
  fileprivate(set) var first: Item?
}

extension DecodedValues: RowCollection where Element: Decodable {
  mutating func add(_ id: ObjectID, _ values: ItemValues) {
    if first == nil { first = Item(id: id, values: values) }
    do throws(UnreadableValue) {
      elements.append(try ItemCoding.decode(Element.self, from: values, id: id))
      ids.append(id)
    } catch {
      problems.append(
        MaterializationError(entity: Element.entityName, id: id, reason: error.reason))
    }
  }

  @concurrent
  fileprivate static func decode(_ items: [Item]) async -> sending Self {
    var values = Self()
    for item in items { values.add(item.id, item.values) }
    return values
  }
}

extension ManagedObjectContext {
  /// Fewer items are decoded where they are needed, since a change of threads costs more.
  private static var minCount: Int { 100 }

  /// Decodes the elements of items outside of the caller's actor; nil if the type needs the context, or
  /// there are few items.
  func decodedInBackground<Element: Fetchable>(
    _ items: [Item], as type: Element.Type, isolation: isolated (any Actor)?
  ) async -> DecodedValues<Element>? {
    guard items.count >= Self.minCount, let type = Self.decodableType(of: Element.self),
      let first = items.first, isDecoded(type, first)
    else { return nil }
    return await Self.decode(items, as: type) as? DecodedValues<Element>
  }

  private static func decode<Value: Fetchable & Decodable>(
    _ items: [Item], as type: Value.Type
  ) async -> sending Any { await DecodedValues<Value>.decode(items) }

  /// Fetches values from a file in this process, and decodes each where its row is read.
  ///
  /// - Returns: nil if the type needs the context, or the store is not such a file. A type's first fetch
  ///   shows that it needs the context; its rows are read again then.
  func fetchValues<Element: Fetchable>(
    _ request: FetchRequest<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [Element]? {
    guard let store = store as? LocalStore, let type = Self.decodableType(of: Element.self),
      !ownTypes.contains(ObjectIdentifier(type))
    else { return nil }
    let read: (token: String, values: Any)
    do throws(ObjectStoreError) {
      read = try await Self.values(of: .object(request.body()), in: store, as: type)
    } catch {
      throw .store(error)
    }
    guard let values = read.values as? DecodedValues<Element> else { return nil }
    if let first = values.first, !isDecoded(type, first) { return nil }
    await awaitRunningSave(isolation: isolation)
    root.recordToken(read.token)
    defer { processChangesOfTree() }
    return try readable(values).orThrow()
  }

  private static func values<Value: Fetchable & Decodable>(
    of request: JSON, in store: LocalStore, as type: Value.Type
  ) async throws(ObjectStoreError) -> sending (token: String, values: Any) {
    let (answer, values) = try await store.snapshot(of: request, as: DecodedValues<Value>.self)
    guard let token = answer["token"]?.string else { throw .notUnderstood("no snapshot") }
    return (token, values)
  }

  /// The type, if its elements may be decoded without a context.
  private static func decodableType<Element: Fetchable>(
    of type: Element.Type
  ) -> (any (Fetchable & Decodable).Type)? {
    Element.self is any ManagedEntity.Type ? nil : Element.self as? any (Fetchable & Decodable).Type
  }

  /// True if the default ``Fetchable/materialize(_:in:)`` creates the elements of a type. A type may have
  /// one of its own. Creating the first element shows which one was used.
  private func isDecoded(_ type: any (Fetchable & Decodable).Type, _ first: Item) -> Bool {
    let id = ObjectIdentifier(type)
    if decodedTypes.contains(id) { return true }
    guard !ownTypes.contains(id) else { return false }
    _ = try? type.materialize(first, in: self)
    guard !decodedTypes.contains(id) else { return true }
    ownTypes.insert(id)
    return false
  }
}
