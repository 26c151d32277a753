// A value in memory → its component of an order key.

extension OrderKeyEncoder {
  /// Appends the component of `value` for a term.
  ///
  /// - Returns: False, without appending anything, if the term derives another value from it.
  public mutating func append(_ value: StoredValue, of term: OrderTerm) -> Bool {
    guard term.derivation == .value else { return false }
    switch value.folded(term.options) {
    case .null: appendNil(term.nils)
    case .integer(let integer): append(integer, term.direction)
    case .double(let double): append(double, term.direction)
    case .text(var text): text.withUTF8 { append(text: $0, term.direction) }
    case .blob(let bytes):
      bytes.withUnsafeBufferPointer { append(binary: $0, term.direction) }
    }
    return true
  }
}
