// Bytewise equality of text. Swift's `==` treats a precomposed letter and its decomposition as
// equal; a store does not. Each `==` lists every case, so the compiler reports a new one.

extension String {
  /// True if both have the same UTF-8.
  func isExactly(_ other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
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
}
