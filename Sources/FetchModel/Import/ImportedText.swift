// The bytes of a text field → numbers, booleans and the bytes of ids, as both stores read them.

import Bytes

extension UnsafeBufferPointer<UInt8> {
  package var string: String { String(decoding: self, as: UTF8.self) }

  /// True for UTF-8 without a NUL, which no store keeps in a text.
  package var isUTF8: Bool {
    var isPlain = true
    for byte in self where byte >= 0x80 || byte == 0 {
      guard byte != 0 else { return false }
      isPlain = false
      break
    }
    return isPlain || String(validating: self, as: UTF8.self)?.utf8.contains(0) == false
  }

  /// nil for anything but an integer of 64 bits.
  package var importedInteger: Int64? {
    var rest = self[...].trimmed
    let isNegative = rest.first == 0x2D
    if isNegative || rest.first == 0x2B { rest = rest.dropFirst() }
    guard (1...18).contains(rest.count) else { return wideInteger }
    var value: Int64 = 0
    for byte in rest {
      guard byte >= 0x30, byte <= 0x39 else { return wideInteger }
      value = value &* 10 &+ Int64(byte &- 0x30)
    }
    return isNegative ? -value : value
  }

  /// `12.0` and `1e3` are integers as well, as in JSON.
  private var wideInteger: Int64? { JSON.number(trimmedText).integer }

  /// nil for anything but a decimal number or an infinity.
  package var importedDouble: Double? {
    if let short = shortDecimal { return short }
    let text = trimmedText
    guard let double = Double(decimal: text), !double.isNaN else { return nil }
    return double.isFinite || text.hasSuffix("Infinity") ? double : nil
  }

  /// The value of at most 15 digits with at most one point among them. Both their integer and the power
  /// of ten are exact, so that one division rounds as the standard library does.
  private var shortDecimal: Double? {
    let isNegative = first == 0x2D
    let digits = isNegative ? self[...].dropFirst() : self[...]
    guard digits.count <= 16 else { return nil }
    var (integer, count) = (0, 0)
    var divisor: Double?
    for byte in digits {
      if byte == 0x2E, divisor == nil {
        divisor = 1
      } else if byte >= 0x30, byte <= 0x39 {
        integer = integer * 10 + Int(byte - 0x30)
        count += 1
        divisor = divisor.map { $0 * 10 }
      } else {
        return nil
      }
    }
    guard (1...15).contains(count), digits.first != 0x2E, digits.last != 0x2E else { return nil }
    let value = Double(integer) / (divisor ?? 1)
    return isNegative ? -value : value
  }

  package var importedBoolean: Bool? {
    switch trimmedText.lowercased() {
    case "1", "true", "yes", "t", "y": true
    case "0", "false", "no", "f", "n": false
    default: nil
    }
  }

  private var trimmedText: String { String(decoding: self[...].trimmed, as: UTF8.self) }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// The bytes without spaces at either end.
  fileprivate var trimmed: Self {
    var slice = self
    while slice.first == 0x20 || slice.first == 0x09 { slice = slice.dropFirst() }
    while slice.last == 0x20 || slice.last == 0x09 { slice = slice.dropLast() }
    return slice
  }
}

extension ImportedField {
  /// The bytes for which a field's hexadecimal digits stand; nil for another field. Digits are in upper
  /// case, as in the API's ids.
  package var hexadecimalBytes: [UInt8]? {
    switch self {
    case .text(let utf8), .quoted(let utf8): Hexadecimal.bytes(of: utf8, uppercaseOnly: true)
    case .json(.string(let text)): Hexadecimal.bytes(of: text.utf8, uppercaseOnly: true)
    case .missing, .null, .json: nil
    }
  }
}

extension JSON {
  /// Text columns accept numbers and booleans as their text, for files whose codes are mostly
  /// digits.
  package func imported(as type: AttributeType) -> JSON {
    guard type == .string || type == .uri else { return self }
    switch self {
    case .number(let text): return .string(text)
    case .boolean(let isTrue): return .string(isTrue ? "true" : "false")
    default: return self
    }
  }
}
