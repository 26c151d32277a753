// Follows the fetch of one query of an object store, and enqueues what changed.

import FetchModel

struct QueryFollower<Element: Fetchable & InstanceIdentifiable & Sendable>: Sendable {
  typealias Query = DataStoreQuery<Element, FetchRequest<Element>>

  private let store: any ObjectStore
  private let query: Query
  private let hold: Double

  /// - Parameter hold: the wait of one request for changes, in seconds.
  init(_ store: any ObjectStore, _ query: Query, hold: Double) {
    (self.store, self.query, self.hold) = (store, query, hold)
  }

  /// Returns when the task is cancelled or the store refuses the fetch. While the store cannot be
  /// reached, the follower retries.
  func run() async {
    do throws(FetchError) { try query.request.checkWindow() } catch { return query.reject(error) }
    var followed = FollowedContent<Element>(store, query.request, hold: hold)
    // The reasons that were reported why objects are left out.
    var problems: [ObjectID: MaterializationError] = [:]
    var isInterrupted = false
    while true {
      let old = followed.content
      let event = await followed.next()
      guard !Task.isCancelled else { return }
      switch event {
      case .changed, .unchanged:
        if isInterrupted { query.resume() }
        isInterrupted = false
        if case .changed(let change) = event { show(followed.content, change, from: old) }
        let now = followed.content?.problems ?? [:]
        report(now.filter { problems[$0.key] != $0.value })
        problems = now
      case .unreachable(let error):
        isInterrupted = true
        query.suspend(FetchError.store(error))
      case .diffNotApplicable: query.report(FetchError.diffNotApplicable)
      case .failed(let error): return query.reject(FetchError.store(error))
      }
    }
  }

  /// Unreadable objects appear when they become readable.
  private func report(_ problems: [ObjectID: MaterializationError]) {
    for (_, problem) in problems.sorted(by: { $0.key < $1.key }) {
      query.report(FetchError.materialization(problem))
    }
  }

  private func show(
    _ content: FetchedContent<Element>?, _ change: ContentChange<ObjectID>?,
    from old: FetchedContent<Element>?
  ) {
    guard let content else { return }
    if let old, let change {
      query.enqueue(Self.changes(change, from: old, to: content)) { content.objects }
    } else {
      query.enqueue(all: content.objects)
    }
    query.processPendingChanges()
  }

  /// The changes in an order in which each can be made after the ones before it: deletions, then
  /// results that come to a place, from the first to the last, then updates. O(changes).
  private static func changes(
    _ change: ContentChange<ObjectID>, from old: FetchedContent<Element>,
    to new: FetchedContent<Element>
  ) -> [ResultChange<Element>] {
    func element(at index: Int) -> Element? { new[Position(section: 0, item: index)] }
    var (deletes, updates) = ([ResultChange<Element>](), [ResultChange<Element>]())
    var arriving: [Int] = []
    for object in change.objects {
      switch (object.type, object.newPosition) {
      case (.insert, let place?), (.move, let place?): arriving.append(place.item)
      case (.update, let place?):
        guard let result = new[place] else { continue }
        updates.append(ResultChange(id: result.instanceID, result: result))
      default:
        guard let id = object.oldPosition.flatMap({ old[$0] })?.instanceID else { continue }
        deletes.append(ResultChange(id: id))
      }
    }
    var arrivals: [ResultChange<Element>] = []
    // The next result that is at its place already, for a run of arriving ones.
    var next: (index: Int, id: Element.InstanceID?)?
    for index in arriving.sorted(by: >) {
      if next?.index != index + 1 { next = (index + 1, element(at: index + 1)?.instanceID) }
      guard let result = element(at: index) else { continue }
      arrivals.append(
        ResultChange(
          id: result.instanceID, result: result,
          place: .init(previous: element(at: index - 1)?.instanceID, next: next?.id)))
      next?.index = index
    }
    return deletes + arrivals.reversed() + updates
  }
}
