// Converts a client's value to its stored representation.

extension StoredValue {
  /// The stored representation of `value`; a date in `format`; nil for ISO 8601.
  public init(_ value: Value, _ format: DateFormat?) {
    switch value {
    case .null: self = .null
    case .boolean(let value): self = .integer(value ? 1 : 0)
    case .integer(let value), .id(.integer(let value)): self = .integer(value)
    case .double(let value): self = .double(value)
    case .string(let text), .json(let text), .id(.text(let text)): self = .text(text)
    case .binary(let bytes): self = .blob(bytes)
    case .date(let instant): self.init(instant, format ?? .iso8601)
    }
  }

  private init(_ instant: Instant, _ format: DateFormat) {
    switch format {
    case .unixSeconds:
      self =
        instant.nanoseconds == 0
        ? .integer(instant.seconds)
        : .double(instant.secondsSince1970)
    case .day where instant.seconds % 86_400 != 0 || instant.nanoseconds != 0:
      // The text with the time of day sorts after the text of its day and before that of the next one.
      self = .text(instant.iso8601)
    case .iso8601, .sqlText, .day: self = .text(instant.stored(as: format))
    }
  }
}
