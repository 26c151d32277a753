// The errors of every store.

/// An error of a store.
public enum StoreError: Error, Sendable, Hashable {
  /// The query exceeds the limit of ``QueryClass/quick``.
  case tooSlow
  /// The query exceeded its time limit.
  case queryTimeout
  /// The response would have more than `limit` bytes.
  case answerTooLarge(limit: Int)
  /// The query joins more tables than the store can.
  case tooManyTables
  /// Another process holds the file, or the store is closed.
  case busy
  /// Too much waits already, or it waited for longer than its time limit. Nothing was changed.
  case overloaded
  /// The server ends. Nothing was changed.
  case shuttingDown
  case diskFull
  /// The storage failed, perhaps temporarily. The text is only for the log.
  case storageFailed(String)
  /// The store is read-only.
  case readOnly
  /// The table of this entity was removed or changed; the model has to be read again.
  case schemaChanged(entity: String)
  /// Another process serves the file, or writes to it for longer. The text says which.
  case inUse(String)
  /// The file cannot be opened: it cannot be a store, or has a newer format.
  case unusable(String)
  /// The file is not a database, or its content is damaged. The text says which.
  case damaged(String)
  /// This kind of store cannot execute such a query. The text names what it lacks.
  case unsupported(String)
  /// Any other error of the storage. The text is only for the log.
  case failed(String)
}
