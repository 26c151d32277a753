// The changes of one fetch, which its reader requests one after the other: a token enters, the diff from
// it leaves.

/// The changes of one fetch, in their order. Ends with its last reference.
public protocol FetchFeed: Sendable {
  /// Returns the diff of the fetch from `token`, as soon as there is one, or a snapshot if the store
  /// cannot give a diff.
  ///
  /// Called by one task at a time, which may be cancelled. The token is that of the last answer, or
  /// any other one if the reader started again.
  ///
  /// - Parameters:
  ///   - token: the token that the diff begins at.
  ///   - hold: seconds after which a diff without changes may be returned; 0 returns one at once.
  /// - Throws: ``ObjectStoreError/tokenExpired`` if history does not reach back to the token.
  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON
}

/// A feed that makes one fetch for each diff, which the store holds until there is one.
struct PolledFeed: FetchFeed {
  let store: any ObjectStore
  /// The members of the request, without `since`.
  let request: [JSON.Member]

  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON {
    let waiting: [JSON.Member] = [
      .init(name: "since", value: .string(token)),
      .init(name: "wait", value: .number(String(hold))),
    ]
    return try await store.fetch(.object(request + waiting))
  }
}

extension ObjectStore {
  /// Returns a feed that requests each change by ``fetch(_:)``, for stores without a feed of their own.
  public func feed(of request: JSON) -> any FetchFeed {
    PolledFeed(store: self, request: request.members)
  }
}

extension JSON {
  /// The members of an object; empty for any other value.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }
}
