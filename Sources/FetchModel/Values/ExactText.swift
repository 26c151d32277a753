// Bytewise equality of text. Swift's `==` treats a precomposed letter and its decomposition as
// equal; a store does not.

extension String {
  /// True if both have the same UTF-8.
  func isExactly(_ other: String) -> Bool {
    utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
  }
}

extension Value {
  /// True if both are of the same case with equal contents; text is compared byte by byte.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.string(let left), .string(let right)), (.json(let left), .json(let right)):
      left.isExactly(right)
    case (.date(let left), .date(let right)): left == right
    case (.binary(let left), .binary(let right)): left == right
    case (.id(let left), .id(let right)): left == right
    default: false
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
    switch (left, right) {
    case (.null, .null): true
    case (.boolean(let left), .boolean(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.string(let left), .string(let right)): left.isExactly(right)
    default: false
    }
  }
}
