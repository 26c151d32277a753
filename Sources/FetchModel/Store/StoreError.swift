// Everything that can go wrong in a store, once and for all of them.

/// Why a store did not do what it was asked.
public enum StoreError: Error, Sendable, Hashable {
  /// The query needs more than ``Effort/quick`` allows.
  case tooSlow
  /// The query ran past its time limit.
  case queryTimeout
  /// The answer would have more than `limit` bytes.
  case answerTooLarge(limit: Int)
  /// Another process holds the file, or too much waits already.
  case busy
  case diskFull
  /// The storage under the file did not do its work, perhaps for a while; the text is for the log
  /// alone.
  case storageFailed(String)
  /// The store can only be read.
  case readOnly
  /// The table of this entity is gone or changed; the model has to be read again.
  case schemaChanged(entity: String)
  /// The file is not what it should be: not a database, damaged, of a newer format.
  case unusable(String)
  /// Anything else the storage reported; the text is for the log alone.
  case failed(String)
}
