// The interface through which `livefetch copy` writes the content of one store to another.

/// Where the objects of a copy are written: an empty store, in one transaction.
public protocol CopyDestination {
  /// Writes objects, as a fetch of ``ModelFile/copiedProperties(of:)`` shows them.
  func write(_ items: [JSON], of entity: String) throws(StoreError)
  /// Adds what a store has in addition to its objects, and ends the copy.
  func finish(_ state: CopiedState) throws(StoreError)
  /// Gives the copy up, and leaves nothing.
  func cancel()
}

/// What a copied store has in addition to its model and its objects.
public struct CopiedState: Sendable {
  /// The highest id that was ever assigned, by root entity. The next one is higher.
  public let highestIDs: [String: Int64]
  /// The responses for idempotency keys.
  public let idempotencyRecords: [IdempotencyRecord]
  /// The API keys, revoked ones included.
  public let apiKeys: [APIKeyRecord]

  /// Makes the state of a store.
  public init(
    highestIDs: [String: Int64], idempotencyRecords: [IdempotencyRecord], apiKeys: [APIKeyRecord]
  ) {
    self.highestIDs = highestIDs
    self.idempotencyRecords = idempotencyRecords
    self.apiKeys = apiKeys
  }
}

extension ModelFile {
  /// Returns the names of the properties that make up the stored state of an entity's objects: its
  /// attributes, its to-one relationships, and the to-many ones, which have an order or join tables.
  public func copiedProperties(of entity: String) -> [String] {
    attributes(of: entity).filter { !$0.isTransient }.map(\.name)
      + relationships(of: entity).map(\.name)
  }

  /// Returns an object as it is copied: with dates to the microsecond and UUIDs in lower case, which
  /// is what PostgreSQL stores.
  public func copied(_ item: JSON, of entity: String) -> JSON {
    guard case .object(let members) = item else { return item }
    let types = Dictionary(
      attributes(of: entity).map { ($0.name, $0.storedType) },
      uniquingKeysWith: { first, _ in first })
    return .object(
      members.map { member in
        guard case .string(let text) = member.value else { return member }
        return switch types[member.name] {
        case .date:
          JSON.Member(
            name: member.name,
            value: .string(Instant(iso8601: text)?.roundedToMicroseconds.iso8601 ?? text))
        case .uuid: JSON.Member(name: member.name, value: .string(text.lowercased()))
        default: member
        }
      })
  }
}
