// The XML that Core Data writes → a tree of elements. Refuses or ignores everything that model
// files do not contain: namespaces, entity declarations, text between elements.

import FetchModel

/// An element of an XML document.
struct XMLElement {
  let name: String
  let attributes: [(name: String, value: String)]
  var children: [XMLElement] = []

  subscript(attribute: String) -> String? {
    attributes.first { $0.name == attribute }?.value
  }

  /// Reads a document.
  ///
  /// - Throws: An error with the line of the first mistake.
  static func parse(_ text: [UInt8]) throws(XMLError) -> XMLElement {
    var parser = XMLParser(text)
    return try parser.document()
  }
}

/// A syntax error in an XML text.
struct XMLError: Error {
  let line: Int
  let reason: String
}

private struct XMLParser {
  private let text: [UInt8]
  private var offset = 0
  private static let deepest = 64

  init(_ text: [UInt8]) { self.text = text }

  private func error(_ reason: String) -> XMLError {
    XMLError(line: text.prefix(offset).count { $0 == 0x0A } + 1, reason: reason)
  }

  mutating func document() throws(XMLError) -> XMLElement {
    try skip()
    let root = try element(depth: 0)
    try skip()
    guard offset == text.count else { throw error("unexpected content after the root element") }
    return root
  }

  private func starts(_ prefix: StaticString) -> Bool {
    prefix.withUTF8Buffer { text[min(offset, text.count)...].starts(with: $0) }
  }

  /// Skips spaces, text, comments and declarations.
  private mutating func skip() throws(XMLError) {
    while offset < text.count {
      if starts("<!--") {
        try skip(past: "-->")
      } else if starts("<?") {
        try skip(past: "?>")
      } else if starts("<!") {
        throw error("document types are not read")
      } else if text[offset] == 0x3C {
        return
      } else {
        offset += 1
      }
    }
  }

  private mutating func skip(past end: StaticString) throws(XMLError) {
    while offset < text.count {
      if starts(end) {
        offset += end.utf8CodeUnitCount
        return
      }
      offset += 1
    }
    throw error("expected `\(end)`")
  }

  private mutating func skipSpaces() {
    while offset < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[offset]) { offset += 1 }
  }

  private mutating func element(depth: Int) throws(XMLError) -> XMLElement {
    guard depth < Self.deepest else { throw error("elements nest too deep") }
    guard offset < text.count, text[offset] == 0x3C else { throw error("expected an element") }
    offset += 1
    let name = try name()
    var attributes: [(name: String, value: String)] = []
    while true {
      skipSpaces()
      if starts("/>") {
        offset += 2
        return XMLElement(name: name, attributes: attributes)
      }
      if starts(">") {
        offset += 1
        break
      }
      attributes.append(try attribute())
    }
    var element = XMLElement(name: name, attributes: attributes)
    while true {
      try skip()
      if starts("</") { break }
      element.children.append(try self.element(depth: depth + 1))
    }
    offset += 2
    guard try self.name() == name else { throw error("`\(name)` is not closed") }
    skipSpaces()
    guard starts(">") else { throw error("expected `>`") }
    offset += 1
    return element
  }

  private mutating func name() throws(XMLError) -> String {
    let start = offset
    while offset < text.count, Self.isNameByte(text[offset]) { offset += 1 }
    guard offset > start else { throw error("expected a name") }
    return String(decoding: text[start..<offset], as: UTF8.self)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x80...0xFF: true
    default: false
    }
  }

  private mutating func attribute() throws(XMLError) -> (name: String, value: String) {
    let name = try name()
    skipSpaces()
    guard starts("=") else { throw error("expected `=` after `\(name)`") }
    offset += 1
    skipSpaces()
    guard offset < text.count, text[offset] == 0x22 || text[offset] == 0x27 else {
      throw error("expected a quoted value for `\(name)`")
    }
    let quote = text[offset]
    offset += 1
    let start = offset
    while offset < text.count, text[offset] != quote { offset += 1 }
    guard offset < text.count else { throw error("the value of `\(name)` does not end") }
    defer { offset += 1 }
    return (name, try unescaped(text[start..<offset]))
  }

  private func unescaped(_ bytes: ArraySlice<UInt8>) throws(XMLError) -> String {
    guard bytes.contains(0x26) else { return String(decoding: bytes, as: UTF8.self) }
    var result: [UInt8] = []
    var rest = bytes
    // Bytes: a mark that follows would make one character with the `;`.
    while let start = rest.firstIndex(of: 0x26) {
      result += rest[..<start]
      guard let end = rest[start...].firstIndex(of: 0x3B) else { throw error("`&` without `;`") }
      let name = String(decoding: rest[(start + 1)..<end], as: UTF8.self)
      guard let scalar = Self.scalar(name) else { throw error("`&\(name);` is unknown") }
      result += Array(String(scalar).utf8)
      rest = rest[(end + 1)...]
    }
    return String(decoding: result + rest, as: UTF8.self)
  }

  private static func scalar(_ name: String) -> Unicode.Scalar? {
    switch name {
    case "amp": "&"
    case "lt": "<"
    case "gt": ">"
    case "quot": "\""
    case "apos": "'"
    case _ where name.hasPrefix("#x"):
      UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
    case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
    default: nil
    }
  }
}
