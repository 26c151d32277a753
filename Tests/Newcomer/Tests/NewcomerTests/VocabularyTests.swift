// The names that the library brings into a program's scope, and those that it leaves to others.

import LiveFetch
import Testing

// Types of the program that an app is likely to have.
struct Model { let name: String }
struct Entity { let name: String }
enum Value { case one, two }
struct Window { let values: [Value] }

struct `The library's names` {
  @Test func `reach values, ids, positions and options without another import`() throws {
    let json: JSON = .object([.init(name: "id", value: .number("7"))])
    #expect(json["id"] == .number("7"))
    #expect(ObjectID.integer(7) < ObjectID.integer(8))
    #expect(Position(section: 0, item: 1).item == 1)
    let options: StringOptions = [.caseInsensitive, .diacriticInsensitive]
    #expect(
      SortTerm("name", .descending, options: options, nils: .last).text == "-name:cd:nullslast")
    #expect(SortTerm.grouped(by: .initial, of: "name").sectionPart == .initial)
    #expect(MergePolicy.storeWins.rawValue == "storeWins")
    #expect(throws: ModelFileError.self) { try ModelFile(parsing: Array("[]".utf8)) }
    #expect(throws: StoreError.self) { try LocalStore(path: "/nowhere/at/all.sqlite") }
    var storeOptions = LocalStore.Options()
    storeOptions.queryTimeout = 3
    #expect(storeOptions.queryTimeout == 3)
  }

  @Test func `leave those of the program alone`() {
    let window = Window(values: [.two])
    #expect(window.values.count == 1)
    #expect(Model(name: "a").name + Entity(name: "b").name == "ab")
    let (a, b, s) = (3, 4, "x")
    let isLarge = a * 2 + b / 3 - a * (b + 7) > 5 && s == "x"
    #expect(!isLarge)
  }
}
