// Two states of results → the diff between them, where no server tells it: after a request was
// changed, or when history does not reach back. The same promises hold as for diffs of the API.

extension ResultState {
  /// The diff that leads from this state to `new`.
  func difference(to new: ResultState) -> Diff {
    var diff = Diff(entity: "", from: token, to: new.token, summary: new.summary)
    let sectionNumbers = matchSections(with: new, &diff)
    let oldPositions = positions
    let newPositions = new.positions
    for (section, content) in sections.enumerated() {
      for (index, item) in content.items.enumerated() where newPositions[item.id] == nil {
        diff.deleted.append(.init(from: Position(section: section, item: index), id: item.id))
      }
    }
    for (section, content) in new.sections.enumerated() {
      var stayed: [(from: Position, to: Position)] = []
      for (index, item) in content.items.enumerated() {
        let to = Position(section: section, item: index)
        guard let from = oldPositions[item.id] else {
          diff.inserted.append(.init(to: to, id: item.id, item: item.json.bytes))
          continue
        }
        if sectionNumbers[from.section] == section {
          stayed.append((from, to))
        } else {
          appendChange(from: from, to: to, new, isMove: true, &diff)
        }
      }
      let kept = longestIncreasing(stayed.map(\.from.item))
      for (index, place) in stayed.enumerated() {
        appendChange(from: place.from, to: place.to, new, isMove: !kept.contains(index), &diff)
      }
    }
    return diff
  }

  /// Names the sections that came and went; gives the others' new number by their old one. Sections
  /// never move: those out of order are deleted and inserted.
  private func matchSections(with new: ResultState, _ diff: inout Diff) -> [Int: Int] {
    let newNumbers = Dictionary(
      new.sections.enumerated().map { ($1.info.value, $0) }, uniquingKeysWith: { first, _ in first }
    )
    let common = sections.indices.compactMap { old in
      newNumbers[sections[old].info.value].map { (old: old, new: $0) }
    }
    let kept = longestIncreasing(common.map(\.new)).map { common[$0] }
    let numbers = Dictionary(uniqueKeysWithValues: kept.map { ($0.old, $0.new) })
    for (index, section) in sections.enumerated() where numbers[index] == nil {
      diff.deletedSections.append(.init(index: index, section: section.info))
    }
    let arrived = Set(numbers.values)
    for (index, section) in new.sections.enumerated() where !arrived.contains(index) {
      diff.insertedSections.append(.init(index: index, section: section.info))
    }
    return numbers
  }

  private func appendChange(
    from: Position, to: Position, _ new: ResultState, isMove: Bool, _ diff: inout Diff
  ) {
    let (oldItem, newItem) = (
      sections[from.section].items[from.item], new.sections[to.section].items[to.item]
    )
    guard isMove || oldItem != newItem else { return }
    let change = Diff.Changed(
      from: from, to: to, id: newItem.id, changed: oldItem.changes(to: newItem).bytes)
    if isMove { diff.moved.append(change) } else { diff.updated.append(change) }
  }
}

extension Item {
  /// The values of `new` that differ from this item's, as an object.
  fileprivate func changes(to new: Item) -> JSON {
    .object(
      new.names.compactMap { name in
        guard let value = new[name], value != self[name] else { return nil }
        return JSON.Member(name: name, value: value)
      })
  }
}

/// The indexes of one longest increasing subsequence of `values`, in O(n log n).
func longestIncreasing(_ values: [Int]) -> Set<Int> {
  var tails: [Int] = []
  var previous = [Int](repeating: -1, count: values.count)
  for index in values.indices {
    var (low, high) = (0, tails.count)
    while low < high {
      let middle = (low + high) / 2
      if values[tails[middle]] < values[index] { low = middle + 1 } else { high = middle }
    }
    if low > 0 { previous[index] = tails[low - 1] }
    if low == tails.count { tails.append(index) } else { tails[low] = index }
  }
  var result: Set<Int> = []
  var index = tails.last ?? -1
  while index >= 0 {
    result.insert(index)
    index = previous[index]
  }
  return result
}
