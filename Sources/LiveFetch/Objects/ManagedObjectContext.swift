// Where objects live between the store and their users: one instance an object, and what was
// changed and not saved yet. For one isolation domain, like the objects themselves.

/// Objects of one store and their unsaved changes.
public final class ManagedObjectContext {
  public let store: any ObjectStore

  public init(store: any ObjectStore) { self.store = store }
}
