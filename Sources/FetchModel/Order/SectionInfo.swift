// The section prefix of an order key → the section's members in a response.
//
// With string options a section's term has two components, the folded text and the exact one. The
// client always sees the last component.

/// The identity of a section for clients.
public struct SectionInfo: Sendable, Hashable {
  /// The value as text: empty for nil, `1` or `0` for a boolean, ISO 8601 for a date.
  public let name: String
  /// The value as JSON, typed and exact.
  public let value: [UInt8]
  /// The capitalised first letter of the name; empty for an empty name.
  public let indexTitle: String

  /// The only section of a result without sections.
  public static let unsectioned = SectionInfo(name: "", value: Array("null".utf8))

  /// Creates the section called `name` with the JSON value `value`.
  public init(name: String, value: [UInt8]) {
    self.name = name
    self.value = value
    indexTitle = name.first.map { $0.uppercased() } ?? ""
  }

  /// Decodes the section whose keys begin with `section`.
  ///
  /// - Parameters:
  ///   - term: The definition's section term; nil gives ``unsectioned``.
  ///   - integersAsStrings: True to write integers beyond ±2^53 as strings.
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

  /// Appends `"name":…,"value":…,"indexTitle":…`, the first members of a section.
  public func appendMembers(to json: inout [UInt8]) {
    appendIdentity(to: &json)
    json.append(json: ",\"indexTitle\":")
    json.append(jsonString: indexTitle)
  }

  /// Appends `"name":…,"value":…`, the members that identify a deleted section.
  public func appendIdentity(to json: inout [UInt8]) {
    json.append(json: "\"name\":")
    json.append(jsonString: name)
    json.append(json: ",\"value\":")
    json.append(contentsOf: value)
  }
}

/// Converts a component of an order key into a section's name and its value as JSON, by the type of the
/// section's term. For one component.
private struct SectionWriter {
  /// nil for a derived value, which is always text.
  private let type: AttributeType?
  private let dateFormat: DateFormat?
  /// True for the id of an object, which is a text if it is no integer.
  private let isID: Bool
  private let integersAsStrings: Bool
  private(set) var name = ""
  private(set) var value: [UInt8] = []

  init(term: OrderTerm, model: Model, integersAsStrings: Bool) {
    self.integersAsStrings = integersAsStrings
    isID = term.path.target == .object && term.derivation == .value
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
    } else if isID {
      write(string: double.description)
    } else {
      write(number: double)
    }
  }

  private mutating func write(number: Double) {
    // Items have null for NaN. A section has "NaN", which differs from the section of nil.
    guard !number.isNaN else { return write(string: "NaN") }
    value.append(json: number)
    name = String(decoding: value.filter { $0 != 0x22 }, as: UTF8.self)
  }

  private mutating func write(string: String) {
    name = string
    value.append(jsonString: string)
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
    // The key of PostgreSQL's `-infinity` begins with a blank, so that it precedes every date.
    if type == .date, utf8.elementsEqual(" -infinity".utf8) {
      return write(string: "-infinity")
    }
    write(asStored: utf8)
  }

  /// Writes a text: as the JSON that it is in a JSON or decimal attribute, otherwise as a string.
  private mutating func write(asStored utf8: UnsafeBufferPointer<UInt8>) {
    name = String(decoding: utf8, as: UTF8.self)
    switch type == .json || type == .decimal ? try? JSON(stored: Array(utf8)) : nil {
    case .number?: value.append(contentsOf: utf8)
    // A client computes a result's digest from the decoded string, so the string is escaped in one way.
    case .string(let text)? where type == .json: value.append(jsonString: text)
    case .some where type == .json: value.append(contentsOf: utf8)
    default: value.append(jsonString: utf8)
    }
  }

  private mutating func write(binary bytes: [UInt8]) {
    if let mistyped = ColumnEncoding.mistypedValue(of: bytes, type) {
      write(mistyped: mistyped)
    } else if type == .uuid, bytes.count == 16 {
      name = String(decoding: UUIDText.text(of: bytes), as: UTF8.self)
      value.append(jsonString: name)
    } else {
      write(base64: bytes)
    }
  }

  /// Writes, as stored, a value of another type than the attribute's.
  private mutating func write(mistyped: OrderKeyDecoder.Component) {
    switch mistyped {
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
