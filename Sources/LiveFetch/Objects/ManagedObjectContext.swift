// What controllers fetch from, and what elements are made in. For one isolation domain, like the
// controllers themselves.

/// The store that elements come from.
public final class ManagedObjectContext {
  public let store: any ObjectStore

  public init(store: any ObjectStore) { self.store = store }
}
