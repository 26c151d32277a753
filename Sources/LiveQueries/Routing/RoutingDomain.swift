// Normalises a predicate's constants and a row's values so that equal values have equal keys.
//
// Only values whose comparison does not depend on the store are normalised. Every other value is
// `anything`, which matches every query at that path. Dates become whole seconds, which sort like
// their texts; UUIDs become upper case.

import FetchModel

/// A row's value in normalised form.
enum RoutingValue: Hashable {
  case known(StoredValue)
  /// Only the store can compare this value.
  case anything
}

/// The normal form of one key path's values.
struct RoutingDomain: Hashable {
  private enum Kind: Hashable {
    case number, boolean, text, uuid, binary, integerID, textID, opaque
    case date(DateFormat)
  }

  private let kind: Kind
  /// Case and diacritic folding applied to texts.
  private let options: StringOptions

  init(_ path: ConjunctPath, in model: Model) {
    options = path.options
    let type = model.type(of: path.propertyPath)
    guard case .attribute(let index) = path.propertyPath.target else {
      kind = type == .integer ? .integerID : type == .uuid ? .uuid : .textID
      return
    }
    let attribute = model.entities[model.walk(path.propertyPath).end].attributes[index]
    kind =
      switch type {
      case .integer, .double, .decimal: .number
      case .boolean: .boolean
      case .string, .uri: .text
      // The text `null` is nil.
      case .json: .opaque
      case .uuid: path.options.isEmpty ? .uuid : .text
      case .binary: .binary
      case .date: .date(attribute.dateFormat ?? .iso8601)
      }
  }

  /// True if the order of normalised values is the store's order.
  var isOrdered: Bool {
    switch kind {
    case .number, .boolean, .text, .binary, .date: true
    case .uuid, .integerID, .textID, .opaque: false
    }
  }

  var isText: Bool { kind == .text }

  /// Normalises a value of a row.
  func value(_ stored: StoredValue?) -> RoutingValue {
    switch (kind, stored) {
    case (_, nil), (.opaque, _): .anything
    case (_, .null?): .known(.null)
    case (.number, .integer?), (.number, .double?), (.integerID, .integer?), (.binary, .blob?),
      (.textID, .text?):
      stored.map { .known($0) } ?? .anything
    case (.text, .text(let text)?): .known(.text(Folding.fold(text, options)))
    case (.boolean, .integer(0)?), (.boolean, .integer(1)?): stored.map { .known($0) } ?? .anything
    case (.uuid, .text(let text)?): .known(.text(text.uppercased()))
    case (.uuid, .blob(let bytes)?) where bytes.count == 16:
      .known(.text(String(decoding: UUIDText.text(of: bytes), as: UTF8.self)))
    case (.date(let format), let stored?):
      Self.seconds(stored, format).map { .known($0) } ?? .anything
    default: .anything
    }
  }

  /// Normalises a constant of a predicate; nil if rows cannot be looked up by it.
  func constant(_ value: Value) -> StoredValue? {
    switch (kind, value) {
    case (.opaque, _): return nil
    case (_, .null): return .null
    case (.date, .date(let instant)): return Self.seconds(instant)
    case (.date, _): return nil
    default:
      guard case .known(let known) = self.value(StoredValue(value, nil)) else { return nil }
      return known
    }
  }

  // MARK: Dates

  /// Whole seconds since 1970, for years 0 to 9999.
  private static func seconds(_ instant: Instant) -> StoredValue? {
    (0...9999).contains(instant.calendarFields.year) ? .integer(instant.seconds) : nil
  }

  /// Whole seconds of a stored date, in any stored form.
  private static func seconds(_ stored: StoredValue, _ format: DateFormat) -> StoredValue? {
    switch (format, stored) {
    case (.unixSeconds, .integer(let seconds)): return self.seconds(Instant(seconds: seconds))
    case (.unixSeconds, .double(let seconds)):
      return Instant(secondsSince1970: seconds.rounded(.down)).flatMap { self.seconds($0) }
    case (.unixSeconds, _): return nil
    case (_, .text(let text)):
      return Instant(iso8601: text).flatMap { seconds($0) }
    default: return nil
    }
  }
}
