// A set that keeps the order of insertion, for changes that a save sends in their order.

/// A set whose elements are iterated in the order of their insertion.
///
/// Inserting, removing and finding an element is O(1); iterating n elements is O(n log n).
struct InsertionOrderedSet<Element: Hashable> {
  private var numbers: [Element: Int] = [:]
  private var lastNumber = 0

  init() {}

  init(_ elements: some Sequence<Element>) { for element in elements { insert(element) } }

  var isEmpty: Bool { numbers.isEmpty }
  var count: Int { numbers.count }

  /// The elements in the order of their insertion.
  var elements: [Element] { numbers.sorted { $0.value < $1.value }.map(\.key) }

  func contains(_ element: Element) -> Bool { numbers[element] != nil }

  /// Inserts an element at the end; an existing one keeps its place.
  mutating func insert(_ element: Element) {
    guard numbers[element] == nil else { return }
    lastNumber += 1
    numbers[element] = lastNumber
  }

  mutating func remove(_ element: Element) { numbers[element] = nil }
}

extension InsertionOrderedSet: Sequence {
  var underestimatedCount: Int { count }

  func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }
}

extension InsertionOrderedSet: Equatable {
  static func == (left: Self, right: Self) -> Bool {
    left.count == right.count && left.elements == right.elements
  }
}

extension InsertionOrderedSet: ExpressibleByArrayLiteral {
  init(arrayLiteral elements: Element...) { self.init(elements) }
}
