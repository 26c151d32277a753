// Converts ranks to positions `[section, item]` in a window, in the old and the new numbering.
//
// A section belongs to a window if one of its items does, so sections are numbered from the first
// visible one. A section's old number is its new number minus the inserted sections before it plus
// the deleted sections before it.

import FetchModel

/// The sections visible in a window before and after.
struct SectionNumbers {
  /// A section's items and numbers before and after.
  struct Section {
    /// Ranks of its items within the window.
    let oldItems: Range<Int>
    let newItems: Range<Int>
    /// Numbers relative to the first visible section; meaningless while the section is not visible.
    let oldIndex: Int
    let newIndex: Int
  }

  private let shift: RankShift
  private let oldVisible: Range<Int>
  private let newVisible: Range<Int>
  /// Sections that exist only after, and only before; sorted.
  private var created: [[UInt8]] = []
  private var removed: [[UInt8]] = []
  private var firstOldIndex = 0
  private var firstNewIndex = 0
  private var known: [[UInt8]: Section] = [:]

  init(shift: RankShift, oldVisible: Range<Int>, newVisible: Range<Int>) {
    self.shift = shift
    self.oldVisible = oldVisible
    self.newVisible = newVisible
    guard shift.keys.isSectioned else { return }
    findCreatedAndRemoved()
    if !oldVisible.isEmpty {
      firstOldIndex = oldNumber(of: Array(shift.oldKey(at: oldVisible.lowerBound).section))
    }
    if !newVisible.isEmpty {
      firstNewIndex = newNumber(of: Array(shift.keys.keys[newVisible.lowerBound].section))
    }
  }

  private mutating func findCreatedAndRemoved() {
    var sections = Set<[UInt8]>()
    for key in shift.oldChanged { sections.insert(Array(key.section)) }
    for key in shift.newChanged { sections.insert(Array(key.section)) }
    for section in sections {
      let isNow = !shift.keys.ranks(ofSection: section).isEmpty
      let wasThen = !shift.oldRanks(ofSection: section).isEmpty
      if isNow && !wasThen { created.append(section) }
      if wasThen && !isNow { removed.append(section) }
    }
    created.sort { $0.precedes($1) }
    removed.sort { $0.precedes($1) }
  }

  private func newNumber(of section: [UInt8]) -> Int {
    shift.keys.sections.lowerBound(of: section)
  }

  private func oldNumber(of section: [UInt8]) -> Int {
    newNumber(of: section) - created.partitionPoint { $0.precedes(section) }
      + removed.partitionPoint { $0.precedes(section) }
  }

  /// The items and numbers of `section`. O(log n) for the first call per section.
  mutating func section(_ section: [UInt8]) -> Section {
    if let section = known[section] { return section }
    let found: Section
    if shift.keys.isSectioned {
      found = Section(
        oldItems: shift.oldRanks(ofSection: section).clamped(to: oldVisible),
        newItems: shift.keys.ranks(ofSection: section).clamped(to: newVisible),
        oldIndex: oldNumber(of: section) - firstOldIndex,
        newIndex: newNumber(of: section) - firstNewIndex)
    } else {
      found = Section(oldItems: oldVisible, newItems: newVisible, oldIndex: 0, newIndex: 0)
    }
    known[section] = found
    return found
  }

  mutating func oldPosition(of key: OrderKey, rank: Int) -> Position {
    let section = section(Array(key.section))
    return Position(section: section.oldIndex, item: rank - section.oldItems.lowerBound)
  }

  mutating func newPosition(of key: OrderKey, rank: Int) -> Position {
    let section = section(Array(key.section))
    return Position(section: section.newIndex, item: rank - section.newItems.lowerBound)
  }
}
