// How a store tells of one fetch: it is asked, again and again, what comes after a moment.

/// The way along which a store tells what happens in one fetch. Ends with its last reference.
public protocol FetchFeed: Sendable {
  /// What there is to say of the fetch after the moment `token`: the diff from there, as soon as there
  /// is one, or a snapshot where that is all the store can give.
  ///
  /// Called by one task at a time, which may be cancelled. The token is that of the last answer, or
  /// any other where the reader began anew.
  ///
  /// - Parameters:
  ///   - token: the moment from which on is told.
  ///   - hold: seconds after which a diff without changes may come; 0: it has to come at once.
  /// - Throws: ``ObjectStoreError/tokenExpired`` where history does not reach back to the token.
  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON
}

/// A fetch of its own for each diff, held by the store until there is one.
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
  public func feed(of request: JSON) -> any FetchFeed {
    PolledFeed(store: self, request: request.members)
  }
}

extension JSON {
  /// The members of an object; none of anything else.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }
}
