// A stored value → JSON, by its storage class and the attribute's type.

import FetchModel

extension RowReader {
  func append(integer: Int64, _ format: ValueFormat, to bytes: inout [UInt8]) {
    switch format {
    case .boolean where integer == 0: bytes.append(json: "false")
    case .boolean where integer == 1: bytes.append(json: "true")
    case .date(.unixSeconds): bytes.append(json: Instant(seconds: integer))
    case .transformable: appendNoValue(to: &bytes)
    case .largeNumberAsString where integer.magnitude > 1 << 53:
      bytes.append(0x22)
      bytes.append(json: integer)
      bytes.append(0x22)
    default: bytes.append(json: integer)
    }
  }

  func append(double: Double, _ format: ValueFormat, to bytes: inout [UInt8]) {
    if format == .date(.unixSeconds), let instant = Instant(secondsSince1970: double) {
      bytes.append(json: instant)
    } else if case .transformable = format {
      appendNoValue(to: &bytes)
    } else {
      bytes.append(json: double)
    }
  }

  /// Appends the error of a transformable attribute whose stored value is a number.
  private func appendNoValue(to bytes: inout [UInt8]) {
    TransformableReader.append(error: "what is stored is a number", to: &bytes)
  }

  func append(
    text: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    switch format {
    case .date(let dateFormat) where dateFormat != .unixSeconds:
      if let instant = Instant(stored: text, as: dateFormat) {
        bytes.append(json: instant)
      } else {
        bytes.append(jsonString: text)
      }
    case .json:
      if (try? JSON(parsing: Array(text))) != nil {
        bytes.append(contentsOf: text)
      } else {
        bytes.append(jsonString: text)
      }
    case .transformable(let index): layout.readers[index].append(text, to: &bytes)
    case .ids: bytes.append(contentsOf: text)
    default: bytes.append(jsonString: text)
    }
  }

  func append(
    blob: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    if format == .uuid, blob.count == 16 {
      bytes.append(uuid: blob)
    } else if case .date = format,
      case .text(let text)? = StoredForm.foreignValue(of: Array(blob), .date)
    {
      bytes.append(jsonString: String(decoding: text, as: UTF8.self))
    } else if case .transformable(let index) = format {
      layout.readers[index].append(blob, to: &bytes)
    } else {
      bytes.append(0x22)
      bytes.append(base64: blob, .standard)
      bytes.append(0x22)
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(uuid blob: UnsafeBufferPointer<UInt8>) {
    let digits = Array("0123456789ABCDEF".utf8)
    append(0x22)
    for (index, byte) in blob.enumerated() {
      if [4, 6, 8, 10].contains(index) { append(0x2D) }
      append(digits[Int(byte >> 4)])
      append(digits[Int(byte & 15)])
    }
    append(0x22)
  }
}
