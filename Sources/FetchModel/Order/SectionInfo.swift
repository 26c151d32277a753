// A section's bytes at the front of an order key → what a client sees of the section.
//
// With string options a section's term is two components, the folded text and the exact one; what
// the client sees is the last component in every case.

/// What identifies a section to clients.
public struct SectionInfo: Sendable, Hashable {
  /// The value as text: nil is empty, a boolean `1` or `0`, a date ISO 8601.
  public let name: String
  /// The value as JSON, typed and exact.
  public let value: [UInt8]
  /// The capitalised first letter of the name; empty where the name is.
  public let indexTitle: String

  /// The one section of a result without sections.
  public static let unsectioned = SectionInfo(name: "", value: Array("null".utf8))

  /// The section called `name`, whose value is `value` in JSON.
  public init(name: String, value: [UInt8]) {
    self.name = name
    self.value = value
    indexTitle = name.first.map { $0.uppercased() } ?? ""
  }

  /// Reads the section that `key` stands in.
  ///
  /// - Parameters:
  ///   - term: the definition's section term; nil gives ``unsectioned``.
  ///   - integersAsStrings: whether integers beyond ±2^53 are strings.
  public init(
    of key: OrderKey, term: OrderTerm?, model: Model, integersAsStrings: Bool = false
  ) {
    self.init(
      section: key.section, term: term, model: model, integersAsStrings: integersAsStrings)
  }

  /// Reads the section whose keys begin with `section`.
  public init(
    section: ArraySlice<UInt8>, term: OrderTerm?, model: Model, integersAsStrings: Bool = false
  ) {
    guard let term, let component = Self.lastComponent(of: section) else {
      self = .unsectioned
      return
    }
    var writer = SectionWriter(term: term, model: model, integersAsStrings: integersAsStrings)
    writer.write(component)
    self.init(name: writer.name, value: writer.value)
  }

  private static func lastComponent(
    of section: ArraySlice<UInt8>
  ) -> OrderKeyDecoder.Component? {
    var decoder = OrderKeyDecoder(bytes: Array(section))
    var last: OrderKeyDecoder.Component?
    while !decoder.isAtEnd, let component = decoder.decode() { last = component }
    return last
  }

  /// Appends `"name":…,"value":…,"indexTitle":…`, the members that open a section.
  public func appendMembers(to json: inout [UInt8]) {
    appendIdentity(to: &json)
    json.append(json: ",\"indexTitle\":")
    json.append(jsonString: indexTitle)
  }

  /// Appends `"name":…,"value":…`, the members that name a deleted section.
  public func appendIdentity(to json: inout [UInt8]) {
    json.append(json: "\"name\":")
    json.append(jsonString: name)
    json.append(json: ",\"value\":")
    json.append(contentsOf: value)
  }
}

/// Writes a component as a client sees a value of the term's type.
private struct SectionWriter {
  /// nil for what was derived from a value: always text.
  private let type: AttributeType?
  private let dateFormat: DateFormat?
  private let integersAsStrings: Bool
  private(set) var name = ""
  private(set) var value: [UInt8] = []

  init(term: OrderTerm, model: Model, integersAsStrings: Bool) {
    self.integersAsStrings = integersAsStrings
    type = term.derivation == .value ? model.type(of: term.path) : nil
    switch term.path.target {
    case .attribute(let index):
      dateFormat = model.entities[model.walk(term.path).end].attributes[index].dateFormat
    case .object: dateFormat = nil
    }
  }

  mutating func write(_ component: OrderKeyDecoder.Component) {
    switch component {
    case .null: value.append(json: "null")
    case .integer(let integer): write(integer)
    case .double(let double): write(double)
    case .text(let utf8): utf8.withUnsafeBufferPointer { write(text: $0) }
    case .binary(let bytes): write(binary: bytes)
    }
  }

  private mutating func write(_ integer: Int64) {
    switch type {
    case .boolean where integer == 0 || integer == 1:
      name = integer == 1 ? "1" : "0"
      value.append(json: integer == 1 ? "true" : "false")
    case .date where dateFormat == .unixSeconds:
      write(Instant(seconds: integer))
    case .double where Int64(exactly: Double(integer)) == integer:
      write(number: Double(integer))
    default:
      name = String(integer)
      if integersAsStrings && integer.magnitude > 1 << 53 {
        value.append(jsonString: name)
      } else {
        value.append(json: integer)
      }
    }
  }

  private mutating func write(_ double: Double) {
    if type == .date, dateFormat == .unixSeconds, let date = Instant(secondsSince1970: double) {
      write(date)
    } else {
      write(number: double)
    }
  }

  private mutating func write(number: Double) {
    value.append(json: number)
    name = String(decoding: value.filter { $0 != 0x22 }, as: UTF8.self)
  }

  private mutating func write(_ date: Instant) {
    name = date.iso8601
    value.append(json: date)
  }

  private mutating func write(text utf8: UnsafeBufferPointer<UInt8>) {
    if type == .date, dateFormat != .unixSeconds, let date = Instant(comparable: utf8) {
      write(date)
      return
    }
    write(asStored: utf8)
  }

  private mutating func write(asStored utf8: UnsafeBufferPointer<UInt8>) {
    name = String(decoding: utf8, as: UTF8.self)
    if isRawJSON(utf8) {
      value.append(contentsOf: utf8)
    } else {
      value.append(jsonString: utf8)
    }
  }

  private func isRawJSON(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard type == .json || type == .decimal, let json = try? JSON(parsing: Array(utf8)) else {
      return false
    }
    if case .number = json { return true }
    return type == .json
  }

  private mutating func write(binary bytes: [UInt8]) {
    if let foreign = StoredForm.foreignValue(of: bytes, type) {
      write(foreign: foreign)
    } else if type == .uuid, bytes.count == 16 {
      name = String(decoding: UUIDText.text(of: bytes), as: UTF8.self)
      value.append(jsonString: name)
    } else {
      write(base64: bytes)
    }
  }

  /// A value that the type cannot hold, as it is stored.
  private mutating func write(foreign: OrderKeyDecoder.Component) {
    switch foreign {
    case .null: value.append(json: "null")
    case .integer(let integer):
      name = String(integer)
      value.append(json: integer)
    case .double(let double): write(number: double)
    case .text(let utf8): utf8.withUnsafeBufferPointer { write(asStored: $0) }
    case .binary(let bytes): write(base64: bytes)
    }
  }

  private mutating func write(base64 bytes: [UInt8]) {
    var text: [UInt8] = []
    text.append(base64: bytes, .standard)
    name = String(decoding: text, as: UTF8.self)
    value.append(jsonString: name)
  }
}
