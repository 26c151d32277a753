// A value in memory → the component of an order key that stands for it.

extension OrderKeyEncoder {
  /// Appends what a term of an order takes of `value`.
  ///
  /// - Returns: false where the term takes another thing than the value itself; nothing is appended
  ///   then.
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
