// Computes the diff between two states when no server provides it: after a changed request or an
// expired token. It satisfies the promises of the API's diffs.

import FetchModel

extension ResultState {
  /// The diff from this state to `new`. Items with equal values move only if the order changed or
  /// values that were not fetched moved them.
  ///
  /// - Parameter changed: items whose values differ although the states do not contain them.
  func difference(to new: ResultState, changed: Set<ObjectID> = []) -> Diff {
    func isSame(_ place: OrderDifference<ObjectID>.Place) -> Bool {
      guard !changed.contains(place.id), let old = self[place.from], let now = new[place.to] else {
        return false
      }
      // One of the items may consist of its id only.
      return old == now || old.names.count == 1 || now.names.count == 1
    }
    let places = OrderDifference(from: arrangement, to: new.arrangement, isFixed: isSame)
    var diff = Diff(entity: "", from: token, to: new.token, summary: new.summary)
    diff.deletedSections = places.deletedSections.map {
      .init(index: $0, section: sections[$0].info)
    }
    diff.insertedSections = places.insertedSections.map {
      .init(index: $0, section: new.sections[$0].info)
    }
    diff.deleted = places.deleted.map { .init(from: $0.from, id: $0.id) }
    diff.inserted = places.inserted.map {
      .init(to: $0.to, id: $0.id, item: new[$0.to]?.json.bytes)
    }
    diff.moved = places.moved.map { change($0, to: new) }
    diff.updated = places.stayed.filter { !isSame($0) }.map { change($0, to: new) }
    return diff
  }

  private var arrangement: Arrangement<[UInt8], ObjectID> {
    Arrangement(sections.map { ($0.info.value, $0.items.map(\.id)) })
  }

  private func change(
    _ place: OrderDifference<ObjectID>.Place, to new: ResultState
  ) -> Diff.Changed {
    var changed: [UInt8]?
    if let old = self[place.from], let new = new[place.to] { changed = old.changes(to: new).bytes }
    return Diff.Changed(from: place.from, to: place.to, id: place.id, changed: changed)
  }
}

extension Item {
  /// The values of `new` that differ from this item's, as a JSON object.
  fileprivate func changes(to new: Item) -> JSON {
    .object(
      new.names.compactMap { name in
        guard let value = new[name], value != self[name] else { return nil }
        return JSON.Member(name: name, value: value)
      })
  }
}
