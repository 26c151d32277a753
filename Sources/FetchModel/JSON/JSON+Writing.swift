// Writes JSON directly as bytes, for snapshots, diffs and problem details.

import Bytes

extension [UInt8] {
  /// Appends the UTF-8 of a literal that is valid JSON.
  @inlinable
  public mutating func append(json literal: StaticString) {
    append(
      contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends `text` as a JSON string with its quotes.
  public mutating func append(jsonString text: String) {
    var text = text
    text.withUTF8 { append(jsonString: $0) }
  }

  /// Appends UTF-8 as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
  @inlinable
  public mutating func append(jsonString utf8: UnsafeBufferPointer<UInt8>) {
    append(0x22)
    append(jsonStringPart: utf8)
    append(0x22)
  }

  /// Appends UTF-8 as a part of a JSON string, without quotes; bytes that are not UTF-8 become U+FFFD.
  @inlinable
  public mutating func append(jsonStringPart utf8: UnsafeBufferPointer<UInt8>) {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x80 && $0 != 0x22 && $0 != 0x5C }) {
      append(contentsOf: utf8)
    } else {
      appendEscaped(utf8)
    }
  }

  /// Appends an integer's digits.
  @inlinable
  public mutating func append(json integer: Int64) {
    if integer >= 0 && integer < 10 {
      append(UInt8(truncatingIfNeeded: integer) &+ 0x30)
      return
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var rest = integer.magnitude
      var start = 20
      repeat {
        let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
        start &-= 1
        digits[start] = UInt8(truncatingIfNeeded: remainder) &+ 0x30
        rest = quotient
      } while rest != 0
      if integer < 0 { append(0x2D) }
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[start..<20]))
    }
  }

  /// Appends the shortest digits that read back as `double`: `1`, not `1.0`. Infinities become the
  /// strings `"Infinity"` and `"-Infinity"`, and NaN becomes null.
  public mutating func append(json double: Double) {
    if let integer = Int64(exactly: double), integer.magnitude < 1 << 53 {
      append(json: integer)
    } else if let hundredThousandths = double.hundredThousandths {
      append(hundredThousandths: hundredThousandths)
    } else if double.isFinite {
      append(contentsOf: double.description.utf8)
    } else if double.isNaN {
      append(json: "null")
    } else {
      append(json: double > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }
  }

  /// Appends a fraction with up to five decimals, as coordinates and amounts have: 12345678 as
  /// `123.45678`. A double takes 490 instructions in this way, 860 with `Double.description`.
  private mutating func append(hundredThousandths number: Int64) {
    if number < 0 { append(0x2D) }
    let (whole, fraction) = number.magnitude.quotientAndRemainder(dividingBy: 100_000)
    append(json: Int64(whole))
    append(0x2E)
    var rest = fraction
    var unit: UInt64 = 10_000
    repeat {
      let (digit, remainder) = rest.quotientAndRemainder(dividingBy: unit)
      append(UInt8(truncatingIfNeeded: digit) &+ 0x30)
      (rest, unit) = (remainder, unit / 10)
    } while rest != 0
  }

  /// Appends UTF-8 with the escapes of a JSON string.
  @usableFromInline
  mutating func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>) {
    let isValid = String(validating: utf8, as: UTF8.self) != nil
    if isValid {
      for byte in utf8 { appendEscaped(byte) }
    } else {
      for byte in String(decoding: utf8, as: UTF8.self).utf8 { appendEscaped(byte) }
    }
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case 0x22: append(json: "\\\"")
    case 0x5C: append(json: "\\\\")
    case 0x0A: append(json: "\\n")
    case 0x0D: append(json: "\\r")
    case 0x09: append(json: "\\t")
    case 0..<0x20:
      append(json: "\\u00")
      append(Hexadecimal.digit(byte >> 4))
      append(Hexadecimal.digit(byte & 15))
    default: append(byte)
    }
  }
}

extension Double {
  /// This number in hundred-thousandths, if it is the nearest double to a number with at most five
  /// decimals: 12345678 for 123.45678. Its shortest digits are those of that number, since no two numbers
  /// of 15 digits have the same nearest double. nil if `description` writes it with an exponent.
  fileprivate var hundredThousandths: Int64? {
    guard magnitude < 1e9 else { return nil }
    let number = Int64(self * 1e5 + (self < 0 ? -0.5 : 0.5))
    return number.magnitude >= 10 && Double(number) / 1e5 == self ? number : nil
  }
}

extension [UInt8] {
  /// A line of UTF-8 in which characters that are not seen, or that change the order of those around them,
  /// are written as `\u202E`: a name that a client chose must not make a line of a log look like another
  /// one, or like two.
  package var escapingInvisible: [UInt8] {
    guard contains(where: { $0 >= 0x80 }) else { return self }
    var text = ""
    for scalar in String(decoding: self, as: UTF8.self).unicodeScalars {
      switch scalar.properties.generalCategory {
      case .format, .lineSeparator, .paragraphSeparator,
        .control where scalar.value >= 0x80:
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16, uppercase: true)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      default: text.unicodeScalars.append(scalar)
      }
    }
    return Array(text.utf8)
  }
}
