// The messages for refused predicates: literal texts.

import FetchModel
import Testing

@Suite("Predicate errors")
struct PredicateErrorTests {
  private static let model = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
        Attribute(name: "capital", type: .boolean),
        Attribute(name: "founded", type: .date, dateFormat: .iso8601),
        Attribute(name: "flag", type: .binary), Attribute(name: "details", type: .json),
        Attribute(name: "y", type: .double),
      ],
      relationships: [
        Relationship(name: "country", destination: 1, isToMany: false, inverse: 0)
      ], idType: .integer),
    Entity(
      name: "Country",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "continent", type: .string),
      ],
      relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 0)],
      idType: .string),
  ])

  private func error(_ text: String, _ arguments: [PredicateArgument] = []) -> PredicateError? {
    do {
      _ = try ResolvedPredicate(
        parsing: text, arguments: arguments, entity: 0, model: Self.model)
      return nil
    } catch {
      return error
    }
  }

  @Test("each mistake has its message", arguments: table)
  func messages(text: String, message: String) {
    #expect(error(text)?.description == message)
  }

  @Test("a hint is the bare nearest name, or else a sentence")
  func hints() {
    #expect(error("nmae == 'x'")?.hint == "name")
    #expect(error("country.cities.@cuont > 1")?.hint == "@count")
    #expect(error("lenght(name) > 1")?.hint == "length")
    #expect(error("name BEGINWITH 'x'")?.hint == "BEGINSWITH")
    #expect(error("SUBQUERY(country.cities, $x, $y.name == 'a').@count > 0")?.hint == "$x")
    #expect(error("name == 5")?.hint == "`name` is text")
    #expect(error("zzz == 5")?.hint == nil)
  }

  @Test("the message for one value in place of several shows how to write several")
  func oneForSeveral() {
    let message =
      "at 14: found one value, not several, expected values in braces, an array, or a to-many key path; an array is given as JSON: [1,2]"
    #expect(error("population IN %@", [.text("5")])?.description == message)
    #expect(error("population IN %@", [.json(.number("5"))])?.description == message)
    // Text in text is a search.
    #expect(error("name IN %@", [.text("from Lima to Oslo")]) == nil)
  }
}
