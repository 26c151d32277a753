// Converts the value of a named parameter into the type that the parameter requires, or refuses it.

/// A parameter of a request: its name, and its value as text or JSON.
public struct Parameter: Sendable {
  /// The name of the parameter, for error messages.
  public let name: String
  /// The value as text of a query string, or as JSON of a body.
  public let value: ParameterValue

  /// Makes a parameter.
  public init(name: String, value: ParameterValue) {
    self.name = name
    self.value = value
  }

  private func refusal(expecting expected: String) -> FetchRequestError {
    .badValue(parameter: name, detail: "expected \(expected)")
  }

  /// Returns the value as text.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for JSON other than a string.
  public func text() throws(FetchRequestError) -> String {
    switch value {
    case .text(let text), .json(.string(let text)): return text
    case .json(let json): throw refusal(expecting: "a string, found \(json.kind)")
    }
  }

  /// Returns the elements of a list: in a query string separated by commas, in JSON an array of strings
  /// or a string of that form. Spaces before an element are left out.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for other JSON.
  public func list() throws(FetchRequestError) -> [String] {
    try elements { $0.split(separator: 0x2C, omittingEmptySubsequences: false) }
  }

  /// Returns the elements of a list of expressions. As ``list()``, but commas within brackets and quotes
  /// do not separate elements.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for other JSON.
  public func expressions() throws(FetchRequestError) -> [String] {
    try elements { text in Self.splitOutsideBrackets(text) }
  }

  private func elements(
    _ split: (Substring.UTF8View) -> [Substring.UTF8View]
  ) throws(FetchRequestError) -> [String] {
    if case .json(.array(let elements)) = value {
      var list: [String] = []
      for element in elements {
        guard let text = element.string else {
          throw refusal(expecting: "strings, found \(element.kind)")
        }
        list.append(text)
      }
      return list
    }
    let text = try text()
    guard !text.isEmpty else { return [] }
    return split(text[...].utf8).map { String(Substring($0).drop { $0 == " " }) }
  }

  /// Returns the parts between the commas that are outside brackets and quotes. If a bracket or quote is
  /// not closed, splits at every comma.
  private static func splitOutsideBrackets(_ text: Substring.UTF8View) -> [Substring.UTF8View] {
    var parts: [Substring.UTF8View] = []
    var start = text.startIndex
    var depth = 0
    var quote: UInt8?
    var isEscaped = false
    for index in text.indices {
      let byte = text[index]
      switch (quote, byte) {
      case (_?, _) where isEscaped: isEscaped = false
      case (_?, UInt8(ascii: "\\")): isEscaped = true
      case (let open?, _): quote = byte == open ? nil : open
      case (nil, UInt8(ascii: "'")), (nil, UInt8(ascii: "\"")): quote = byte
      case (nil, UInt8(ascii: "(")), (nil, UInt8(ascii: "{")): depth += 1
      case (nil, UInt8(ascii: ")")), (nil, UInt8(ascii: "}")): depth -= 1
      case (nil, UInt8(ascii: ",")) where depth == 0:
        parts.append(text[start..<index])
        start = text.index(after: index)
      default: break
      }
    }
    guard quote == nil, depth == 0 else {
      return text.split(separator: 0x2C, omittingEmptySubsequences: false)
    }
    return parts + [text[start...]]
  }

  /// Returns the value as an integer from 0 to `Int32.max`.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for any other value.
  public func count() throws(FetchRequestError) -> Int {
    let number: Int64? =
      switch value {
      case .text(let text): text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int64(text) : nil
      case .json(let json): json.integer
      }
    guard let number, number >= 0, number <= Int64(Int32.max) else {
      throw refusal(expecting: "a whole number from 0 to \(Int32.max)")
    }
    return Int(number)
  }

  /// Returns the value as a boolean.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` unless it is `true` or `false`.
  public func flag() throws(FetchRequestError) -> Bool {
    switch value {
    case .text("true"), .json(.boolean(true)): return true
    case .text("false"), .json(.boolean(false)): return false
    default: throw refusal(expecting: "true or false")
    }
  }

  /// Returns true if the value is `word`, which turns the parameter on.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for any other value.
  public func flag(named word: String) throws(FetchRequestError) -> Bool {
    guard try text() == word else { throw refusal(expecting: "`\(word)`") }
    return true
  }

  /// Returns the case of `Choice` that the value names.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` with the list of cases if it names
  ///   none.
  public func choice<Choice>() throws(FetchRequestError) -> Choice
  where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
    guard let choice = Choice(rawValue: try text()) else {
      throw refusal(
        expecting: "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return choice
  }

  /// Returns the value as a number of seconds, from 0 to `limit`.
  ///
  /// - Throws: ``FetchRequestError/badValue(parameter:detail:)`` for any other value; text may
  ///   contain only digits and a point.
  public func seconds(atMost limit: Double) throws(FetchRequestError) -> Double {
    let number: Double? =
      switch value {
      case .text(let text):
        text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E } ? Double(text) : nil
      case .json(let json): json.double
      }
    guard let number, number >= 0, number <= limit else {
      throw refusal(expecting: "seconds from 0 to \(Int(limit))")
    }
    return number
  }

  /// Returns the value as a token, or as `now`.
  ///
  /// - Throws: ``FetchRequestError/badToken`` if it is neither.
  public func since() throws(FetchRequestError) -> FetchRequest.Since {
    let text = try text()
    if text == "now" { return .now }
    guard let token = Token(text) else { throw .badToken }
    return .token(token)
  }
}
