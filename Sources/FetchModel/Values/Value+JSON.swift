// JSON → typed values, exactly or not at all.

extension Value {
  /// The value of an attribute of `type` that `json` represents; nil if it represents none.
  public init?(_ json: JSON, as type: AttributeType) {
    switch (type, json) {
    case (.integer, _):
      guard let integer = json.integer ?? json.string.flatMap({ Int64($0) }) else { return nil }
      self = .integer(integer)
    case (.double, .number):
      guard let double = json.double else { return nil }
      self = .double(double)
    case (.double, .string("Infinity")): self = .double(.infinity)
    case (.double, .string("-Infinity")): self = .double(-.infinity)
    case (.decimal, .number(let text)): self = Self.decimal(text)
    case (.boolean, .boolean(let isTrue)): self = .boolean(isTrue)
    case (.string, .string(let text)), (.uri, .string(let text)): self = .string(text)
    case (.uuid, .string(let text)):
      guard Self.isUUID(text) else { return nil }
      self = .string(text)
    case (.date, .string(let text)):
      guard let date = Instant(iso8601: text) else { return nil }
      self = .date(date)
    case (.binary, .string(let text)):
      guard let bytes = [UInt8](base64: text, .standard) else { return nil }
      self = .binary(bytes)
    case (.json, _): self = .json(json.text)
    default: return nil
    }
  }

  /// The value of `attribute` that `json` represents; nil if it represents none.
  public init?(_ json: JSON, of attribute: Attribute) {
    guard attribute.isUntyped else {
      self.init(json, as: attribute.type)
      return
    }
    switch (attribute.type, json) {
    case (.double, .number(let text)) where (Self.untypedInteger(text)?.magnitude ?? 0) > 1 << 53:
      self.init(json, as: .integer)
    case (.double, _) where Self(json, as: .double) != nil: self.init(json, as: .double)
    case (.binary, .string): self.init(json, as: .binary)
    case (.integer, .string(let text)), (.double, .string(let text)):
      self = Self.largeInteger(text).map { .integer($0) } ?? .string(text)
    case (_, .number(let text)) where Self.untypedInteger(text) != nil:
      self.init(json, as: .integer)
    case (_, .number): self.init(json, as: .double)
    default: self.init(json, as: .string)
    }
  }

  /// The integer that a number is where no type decides; nil for a double. Doubles from 2^53 on are
  /// shown with a fraction or an exponent, and are read as doubles again.
  package static func untypedInteger(_ text: String) -> Int64? {
    Int64(text) ?? JSON.number(text).integer.flatMap { $0.magnitude < 1 << 53 ? $0 : nil }
  }

  /// The integer that `int64=string` sends as `text`; nil for any other text.
  private static func largeInteger(_ text: String) -> Int64? {
    Int64(text).flatMap { $0.magnitude > 1 << 53 && $0.description == text ? $0 : nil }
  }

  /// Returns an integer or a double if it is exact, otherwise the number's text.
  private static func decimal(_ text: String) -> Value {
    if let integer = Int64(text) { return .integer(integer) }
    let digits = text.utf8.count { $0 >= 0x30 && $0 <= 0x39 }
    // The smallest doubles have fewer digits.
    if digits <= 15, let double = Double(text), double.isFinite, double.magnitude >= 1e-290 {
      return .double(double)
    }
    let isZero = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
      .allSatisfy { !(0x31...0x39).contains($0) }
    return isZero ? .double(0) : .string(text)
  }

  private static func isUUID(_ text: String) -> Bool { UUIDText.bytes(of: text.utf8) != nil }
}

extension ObjectID {
  /// The id of `type` that `json` represents; integers may be strings.
  ///
  /// - Parameter style: The store's spelling of UUIDs.
  public init?(
    _ json: JSON, type: AttributeType, style: ColumnEncoding.UUIDStyle = .upper
  ) {
    if type == .integer {
      guard let id = json.integer ?? json.string.flatMap({ Int64($0) }),
        json.string == nil || json.string == id.description
      else { return nil }
      self = .integer(id)
    } else {
      guard let id = json.string else { return nil }
      self = .text(type == .uuid ? Self.canonical(uuid: id, style) : id)
    }
  }

  /// The id of `type` that a path segment represents.
  ///
  /// An integer has one spelling: `01` and `+1` are not ids. Other text may be the id of a row
  /// whose integer key holds it. A UUID may be in upper or lower case.
  ///
  /// - Parameter style: The store's spelling of UUIDs.
  public init?(
    _ text: String, type: AttributeType, style: ColumnEncoding.UUIDStyle = .upper
  ) {
    switch type {
    case .integer:
      let integer = Int64(text)
      guard integer == nil || integer?.description == text else { return nil }
      self = integer.map { .integer($0) } ?? .text(text)
    case .uuid: self = .text(Self.canonical(uuid: text, style))
    default: self = .text(text)
    }
  }

  private static func canonical(
    uuid text: String, _ style: ColumnEncoding.UUIDStyle
  ) -> String {
    guard let bytes = UUIDText.bytes(of: text.utf8) else { return text }
    return String(decoding: UUIDText.text(of: bytes, style), as: UTF8.self)
  }
}

extension Entity {
  /// The id that `json` represents; nil if no object can have it.
  public func objectID(_ json: JSON) -> ObjectID? {
    ObjectID(json, type: idType, style: uuidStyle)
  }

  /// The id that a path segment represents; nil if no object can have it.
  public func objectID(_ text: String) -> ObjectID? {
    ObjectID(text, type: idType, style: uuidStyle)
  }
}

extension Attribute {
  /// A phrase for the accepted JSON.
  var expectation: String {
    guard isUntyped else { return type.expectation }
    return type == .binary ? "a number, or base64 as a string" : "a number or a string"
  }
}

extension AttributeType {
  /// A phrase for the accepted JSON.
  public var expectation: String {
    switch self {
    case .integer: "an integer of 64 bits"
    case .double: "a number"
    case .decimal: "a number"
    case .string, .uri: "a string"
    case .boolean: "true or false"
    case .date: "an ISO 8601 date as a string"
    case .binary: "base64 as a string"
    case .uuid: "a UUID as a string"
    case .json: "any JSON"
    }
  }
}
