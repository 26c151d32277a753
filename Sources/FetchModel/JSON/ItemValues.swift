// The values of one item by name. Numbers that come from columns are not converted to text.

/// A JSON value. Most numbers are an `Int64` or a `Double` instead of text.
package enum ItemValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// A finite number other than an integer between -2^53 and 2^53.
  case double(Double)
  case text(String)
  /// An array, an object, or a number whose text the other cases would not keep.
  case json(JSON)

  package init(_ json: JSON) {
    switch json {
    case .null: self = .null
    case .boolean(let value): self = .boolean(value)
    case .string(let text): self = .text(text)
    case .number(let text):
      if let integer = Int64(text), String(integer) == text {
        self = .integer(integer)
      } else {
        self = .json(json)
      }
    case .array, .object: self = .json(json)
    }
  }

  /// The value that `append(json: Double)` writes: a number, a string for an infinity, null for NaN.
  package init(_ double: Double) {
    if let integer = Int64(exactly: double), integer.magnitude < 1 << 53 {
      self = .integer(integer)
    } else if double.isFinite {
      self = .double(double)
    } else {
      self = double.isNaN ? .null : .text(double > 0 ? "Infinity" : "-Infinity")
    }
  }

  /// The value as JSON.
  package var json: JSON {
    switch self {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .integer(let integer): .number(String(integer))
    case .double(let double): .number(double.description)
    case .text(let text): .string(text)
    case .json(let json): json
    }
  }
}

extension ItemValue {
  /// A set of kinds of values.
  package struct Kinds: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let null = Kinds(rawValue: 1)
    package static let boolean = Kinds(rawValue: 2)
    package static let integer = Kinds(rawValue: 4)
    package static let double = Kinds(rawValue: 8)
    package static let text = Kinds(rawValue: 16)
    package static let json = Kinds(rawValue: 32)
  }

  /// The kind of this value, as a set.
  package var kind: Kinds {
    switch self {
    case .null: .null
    case .boolean: .boolean
    case .integer: .integer
    case .double: .double
    case .text: .text
    case .json: .json
    }
  }
}

extension ItemValue: Equatable {
  /// True if both are the same JSON.
  package static func == (left: ItemValue, right: ItemValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.text(let left), .text(let right)): left.isExactly(right)
    default: left.json == right.json
    }
  }
}

/// Values by name, in their order. The items of one fetch share the array of names.
package struct ItemValues: Sendable {
  package private(set) var names: [String]
  /// In the order of ``names``.
  package private(set) var values: [ItemValue]

  package init(names: [String], values: [ItemValue] = []) {
    self.names = names
    self.values = values
  }

  package init(_ members: [JSON.Member]) {
    names = members.map(\.name)
    values = members.map { ItemValue($0.value) }
  }

  /// The values as the members of an object.
  package var members: [JSON.Member] { map { JSON.Member(name: $0.key, value: $0.value) } }

  /// The value of a name; nil if there is none. O(names).
  package subscript(name: String) -> JSON? {
    get { index(of: name).map { values[$0].json } }
    set { set(newValue.map { ItemValue($0) }, of: name) }
  }

  /// The index of a name; nil if there is none.
  ///
  /// - Parameter start: the index at which the search begins; after the last name it continues with the
  ///   first.
  package func index(of name: String, from start: Int = 0) -> Int? {
    for index in start..<Swift.max(start, names.count) where names[index] == name { return index }
    for index in 0..<Swift.min(start, names.count) where names[index] == name { return index }
    return nil
  }

  /// Replaces a value, adds it at the end, or removes it.
  package mutating func set(_ value: ItemValue?, of name: String) {
    let index = index(of: name)
    if let index, let value {
      values[index] = value
    } else if let index {
      names.remove(at: index)
      values.remove(at: index)
    } else if let value {
      names.append(name)
      values.append(value)
    }
  }

  /// Replaces all values by those that `append` adds, in the order of the names.
  package mutating func refill<Failure: Error>(
    _ append: (inout [ItemValue]) throws(Failure) -> Void
  ) throws(Failure) {
    values.removeAll(keepingCapacity: true)
    try append(&values)
  }
}

extension ItemValues: Sequence {
  package typealias Element = (key: String, value: JSON)

  package func makeIterator() -> some IteratorProtocol<Element> {
    zip(names, values).lazy.map { (key: $0, value: $1.json) }.makeIterator()
  }

  package func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> ItemValues {
    var kept = ItemValues([])
    for element in self where try isIncluded(element) { kept[element.key] = element.value }
    return kept
  }

  /// The values that `other` lacks, or that are different in `other`.
  package func differing(from other: ItemValues) -> ItemValues {
    if other.names == names, other.values == values { return ItemValues([]) }
    var differing = ItemValues([])
    for (place, name) in names.enumerated() {
      let index = other.index(of: name, from: Swift.min(place, other.names.count))
      guard index.map({ other.values[$0] }) != values[place] else { continue }
      differing.set(values[place], of: name)
    }
    return differing
  }

  /// Sets the values of `others`.
  package mutating func merge(_ others: some Sequence<Element>) {
    for (name, value) in others { self[name] = value }
  }

  package func merging(_ others: some Sequence<Element>) -> ItemValues {
    var merged = self
    merged.merge(others)
    return merged
  }
}

extension ItemValues: Equatable {
  /// True if both have the same values, in any order.
  package static func == (left: ItemValues, right: ItemValues) -> Bool {
    if left.names == right.names { return left.values == right.values }
    return left.names.count == right.names.count
      && zip(left.names, left.values).allSatisfy { name, value in
        right.index(of: name).map { right.values[$0] == value } ?? false
      }
  }
}

extension ObjectID {
  package init?(_ value: ItemValue) {
    switch value {
    case .integer(let id): self = .integer(id)
    case .text(let id): self = .text(id)
    default: self.init(json: value.json)
    }
  }
}
