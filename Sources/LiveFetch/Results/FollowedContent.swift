// The content of a fetch, followed from token to token in one task, without an actor: for sequences and
// data stores of typed values. Decodes rows in the task that reads.

import FetchModel

/// A fetch and its newest content.
struct FollowedContent<Element: Fetchable> {
  enum Event {
    /// The content changed; the change is nil for the first content.
    case changed(ContentChange<ObjectID>?)
    /// The store answered, and nothing visible changed.
    case unchanged
    /// The store did not answer; the next call retries.
    case unreachable(ObjectStoreError)
    /// A diff did not lead to the store's state; the next call fetches again.
    case diffNotApplicable
    /// The store refuses the fetch or is closed.
    case failed(ObjectStoreError)
  }

  private let context: ManagedObjectContext
  private var follower: Follower
  /// Nil before the store answers.
  private(set) var content: FetchedContent<Element>?

  /// - Parameter hold: the wait of one request for changes, in seconds.
  init(
    _ store: any ObjectStore, _ request: FetchRequest<Element>, section: SortTerm? = nil,
    hold: Double
  ) {
    context = ManagedObjectContext(store: store)
    follower = Follower(store: store, request: request.body(section: section), hold: hold)
  }

  /// Waits for the next event.
  mutating func next() async -> Event {
    switch await follower.next() {
    case .state(let state):
      return show(FetchedContent(state, isBatched: false, in: context))
    case .diff(let diff):
      guard let old = content, let state = old.sourceState.applying(diff) else {
        follower.token = nil
        return .diffNotApplicable
      }
      let new = FetchedContent(state, from: old, by: diff, in: context)
      return show(new, new.change(by: diff, from: old, in: context))
    case .unreachable(let error): return .unreachable(error)
    case .failed(let error): return .failed(error)
    }
  }

  private mutating func show(
    _ new: FetchedContent<Element>, _ change: ContentChange<ObjectID>? = nil
  ) -> Event {
    let old = content
    follower.token = new.sourceState.token
    content = new
    let change =
      change ?? old.map { ContentChange(from: $0.visibleState, to: new.visibleState) }
    let isSame =
      change?.isEmpty == true && old?.visibleState.summary == new.visibleState.summary
      && old?.sourceState.isStored == new.sourceState.isStored
    return isSame ? .unchanged : .changed(change)
  }
}

extension FetchedContent {
  /// The first unreadable object, if no object at all is readable: the declared type is wrong then,
  /// rather than a value.
  var solelyUnreadable: MaterializationError? {
    visibleState.count == 0 ? problems.min { $0.key < $1.key }?.value : nil
  }
}
