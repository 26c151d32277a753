// Bytewise equality of text. Swift's `==` treats a precomposed letter and its decomposition as
// equal; a store does not. Each `==` lists every case, so the compiler reports a new one. Texts are
// hashed by their bytes too: many texts that Swift calls equal would otherwise have one hash.

extension String {
  /// True if both have the same UTF-8.
  func isExactly(_ other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension Hasher {
  /// Combines the UTF-8 of a text.
  mutating func combine(exactly text: String) {
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    combine(0xFF as UInt8)
  }
}

extension Value {
  /// True if both are of the same case with equal contents; text is compared byte by byte.
  public static func == (left: Value, right: Value) -> Bool {
    switch left {
    case .null: if case .null = right { true } else { false }
    case .boolean(let left): if case .boolean(let right) = right { left == right } else { false }
    case .integer(let left): if case .integer(let right) = right { left == right } else { false }
    case .double(let left): if case .double(let right) = right { left == right } else { false }
    case .string(let left):
      if case .string(let right) = right { left.isExactly(right) } else { false }
    case .json(let left): if case .json(let right) = right { left.isExactly(right) } else { false }
    case .date(let left): if case .date(let right) = right { left == right } else { false }
    case .binary(let left): if case .binary(let right) = right { left == right } else { false }
    case .id(let left): if case .id(let right) = right { left == right } else { false }
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let text), .json(let text): hasher.combine(exactly: text)
    case .date(let value): hasher.combine(value)
    case .binary(let value): hasher.combine(value)
    case .id(let value): hasher.combine(value)
    }
  }
}

extension ObjectID {
  /// True if both are the same number, or the same text byte by byte.
  public static func == (left: ObjectID, right: ObjectID) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left == right
    case (.text(let left), .text(let right)): left.isExactly(right)
    case (.integer, .text), (.text, .integer): false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let id): hasher.combine(id)
    case .text(let id): hasher.combine(exactly: id)
    }
  }
}

extension Literal {
  /// True if both are of the same case with equal contents; text is compared byte by byte.
  public static func == (left: Literal, right: Literal) -> Bool {
    switch left {
    case .null: if case .null = right { true } else { false }
    case .boolean(let left): if case .boolean(let right) = right { left == right } else { false }
    case .integer(let left): if case .integer(let right) = right { left == right } else { false }
    case .double(let left): if case .double(let right) = right { left == right } else { false }
    case .string(let left):
      if case .string(let right) = right { left.isExactly(right) } else { false }
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let text): hasher.combine(exactly: text)
    }
  }
}

extension JSON.Member {
  /// True if the names are equal byte by byte, and the values are equal.
  public static func == (left: JSON.Member, right: JSON.Member) -> Bool {
    left.name.isExactly(right.name) && left.value == right.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(exactly: name)
    hasher.combine(value)
  }
}

extension JSON {
  /// True if both are of the same case with equal contents; text is compared byte by byte.
  public static func == (left: JSON, right: JSON) -> Bool {
    switch left {
    case .null: if case .null = right { true } else { false }
    case .boolean(let left): if case .boolean(let right) = right { left == right } else { false }
    case .number(let left): if case .number(let right) = right { left == right } else { false }
    case .string(let left):
      if case .string(let right) = right { left.isExactly(right) } else { false }
    case .array(let left): if case .array(let right) = right { left == right } else { false }
    case .object(let left): if case .object(let right) = right { left == right } else { false }
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .boolean(let value): hasher.combine(value)
    case .number(let text): hasher.combine(text)
    case .string(let text): hasher.combine(exactly: text)
    case .array(let elements): hasher.combine(elements)
    case .object(let members): hasher.combine(members)
    }
  }
}

extension SelectedValue {
  /// True if both show the same value under keys that are equal byte by byte.
  public static func == (left: SelectedValue, right: SelectedValue) -> Bool {
    left.key.isExactly(right.key) && left.source == right.source
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(exactly: key)
    hasher.combine(source)
  }
}

extension GroupedQuery.Column {
  /// True if both show the same value under keys that are equal byte by byte.
  public static func == (left: GroupedQuery.Column, right: GroupedQuery.Column) -> Bool {
    left.key.isExactly(right.key) && left.value == right.value && left.type == right.type
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(exactly: key)
    hasher.combine(value)
    hasher.combine(type)
  }
}
