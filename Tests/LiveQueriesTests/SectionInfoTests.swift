// Stored section values → their JSON, names and index titles.

import FetchModel
import TestSupport
import Testing

@Suite(.mayBlock) struct SectionInfoTests {
  static let model = Model(entities: [
    Entity(
      name: "Thing",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "isOpen", type: .boolean),
        Attribute(name: "at", type: .date, dateFormat: .sqlText),
        Attribute(name: "seconds", type: .date, dateFormat: .unixSeconds),
        Attribute(name: "size", type: .double), Attribute(name: "number", type: .integer),
        Attribute(name: "document", type: .json), Attribute(name: "price", type: .decimal),
      ], relationships: [], idType: .integer)
  ])

  func info(
    _ attribute: Int, derivation: OrderTerm.Derivation = .value, options: StringOptions = [],
    strings: Bool = false, direction: Direction = .ascending,
    write: (inout OrderKeyEncoder) -> Void
  ) -> SectionInfo {
    var encoder = OrderKeyEncoder()
    write(&encoder)
    let term = OrderTerm(
      path: PropertyPath(root: 0, target: .attribute(attribute)), derivation: derivation,
      direction: direction, options: options)
    return SectionInfo(
      section: encoder.bytes[...], term: term, model: Self.model, integersAsStrings: strings)
  }

  func expect(_ info: SectionInfo, _ name: String, _ value: String, _ indexTitle: String) {
    #expect(info.name == name)
    #expect(String(decoding: info.value, as: UTF8.self) == value)
    #expect(info.indexTitle == indexTitle)
  }

  func append(_ text: String, _ encoder: inout OrderKeyEncoder, _ direction: Direction) {
    var text = text
    text.withUTF8 { encoder.append(text: $0, direction) }
  }

  @Test("A section shows its value typed, its name as text and the first letter capitalised")
  func values() {
    expect(info(0) { append("élan", &$0, .ascending) }, "élan", "\"élan\"", "É")
    expect(info(0, direction: .descending) { append("b", &$0, .descending) }, "b", "\"b\"", "B")
    expect(info(0) { $0.appendNil(.first) }, "", "null", "")
    expect(info(0, direction: .descending) { $0.appendNil(.last) }, "", "null", "")
    expect(info(1) { $0.append(Int64(1), .ascending) }, "1", "true", "1")
    expect(info(1) { $0.append(Int64(0), .ascending) }, "0", "false", "0")
    expect(info(1) { $0.append(Int64(2), .ascending) }, "2", "2", "2")
    expect(info(4) { $0.append(Double(2.5), .ascending) }, "2.5", "2.5", "2")
    expect(info(4) { $0.append(Double.infinity, .ascending) }, "Infinity", "\"Infinity\"", "I")
    expect(info(5) { $0.append(Int64(-7), .ascending) }, "-7", "-7", "-")
    expect(info(6) { append("{\"a\":1}", &$0, .ascending) }, "{\"a\":1}", "{\"a\":1}", "{")
    expect(info(6) { append("{", &$0, .ascending) }, "{", "\"{\"", "{")
    expect(info(6) { append(#""\u00e9""#, &$0, .ascending) }, #""\u00e9""#, "\"é\"", "\"")
    expect(info(7) { append("1.10", &$0, .ascending) }, "1.10", "1.10", "1")
  }

  @Test("Dates are ISO 8601 however they are stored; what is no date stays as it is")
  func dates() {
    let text = "2024-01-31T10:00:00Z"
    let json = "\"2024-01-31T10:00:00Z\""
    expect(info(2) { append("2024-01-31 10:00:00", &$0, .ascending) }, text, json, "2")
    expect(info(3) { $0.append(Int64(1_706_695_200), .ascending) }, text, json, "2")
    expect(
      info(3) { $0.append(Double(0.5), .ascending) }, "1970-01-01T00:00:00.5Z",
      "\"1970-01-01T00:00:00.5Z\"", "1")
    expect(info(2) { append("soon", &$0, .ascending) }, "soon", "\"soon\"", "S")
    expect(
      info(2, derivation: .month) { append("2024-01", &$0, .ascending) }, "2024-01",
      "\"2024-01\"", "2")
    expect(info(3, derivation: .year) { append("2024", &$0, .ascending) }, "2024", "\"2024\"", "2")
  }

  @Test("With string options the exact text after the folded one is shown")
  func options() {
    let section = info(0, options: .caseInsensitive) {
      append("berlin", &$0, .ascending)
      append("BERlin", &$0, .ascending)
    }
    expect(section, "BERlin", "\"BERlin\"", "B")
  }

  @Test("Integers beyond 2^53 are strings where the client asks for it")
  func largeIntegers() {
    let large: (inout OrderKeyEncoder) -> Void = {
      $0.append(Int64(9_007_199_254_740_993), .ascending)
    }
    expect(info(5, write: large), "9007199254740993", "9007199254740993", "9")
    expect(info(5, strings: true, write: large), "9007199254740993", "\"9007199254740993\"", "9")
  }
}
