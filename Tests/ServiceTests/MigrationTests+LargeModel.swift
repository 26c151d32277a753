// A model of fifty entities, and its migration.

import CoreDataModels
import FetchModel
import SQLiteStore
import TestSupport
import Testing

extension MigrationTests {
  /// Fifty entities with inheritance and every type: from Core Data's own file, created, read back,
  /// migrated and exported again.
  @Test(.onlyForFiles) func aLargeModelIsImportedServedAndMigrated() throws {
    let contents = CoreDataContents(try Self.large(extra: false))
    #expect(contents.remarks == [])
    let imported = try CoreDataModel(contents: contents.text)
    #expect(imported.remarks == [])
    let model = imported.model
    #expect(model == (try Self.large(extra: false)))
    let file = try SampleModel.served(model)
    let first = try file.insert("E49", Self.values)
    #expect(try file.ask("/v1/objects/E49/\(first)").text.hasPrefix(Self.shown))
    file.stop()
    #expect(try SQLiteStore.storedModel(path: file.path) == model)
    let next = try Self.large(extra: true)
    _ = try file.migrate(to: next)
    let exported = try #require(try SQLiteStore.storedModel(path: file.path))
    #expect(exported == next)
    #expect(try ModelFile(parsing: exported.text) == next)
    #expect(try CoreDataModel(contents: CoreDataContents(exported).text).model == next)
    #expect(try SQLiteStore.mismatches(path: file.path, with: next) == [])
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/E49/\(first)").text.hasPrefix(Self.shown))
    let id = try again.insert("E49", #"{"integer16":7,"extra":"x"}"#)
    #expect(try again.ask("/v1/objects/E0/\(id)").json["entity"]?.string == "E49")
    #expect(try again.ask("/v1/objects/E7/\(id)").status == 404)
  }

  /// A value of every type.
  static let values = """
    {"integer16":-7,"integer32":70000,"integer64":9007199254740993,"decimal":1.25,"double":0.1,\
    "float":0.5,"string":"s","boolean":true,"date":"2024-01-31T10:00:00Z","binary":"AAEC",\
    "uuid":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8","uri":"https://a.b/c","transformable":{"a":[1]}}
    """
  static let shown = """
    {"id":1,"integer16":-7,"integer32":70000,"integer64":9007199254740993,"decimal":1.25,\
    "double":0.1,"float":0.5,"string":"s","boolean":true,"date":"2024-01-31T10:00:00Z",\
    "binary":"AAEC","uuid":"6BA7B810-9DAD-11D1-80B4-00C04FD430C8","uri":"https://a.b/c",\
    "transformable":{"a":[1]}
    """

  /// E0 is the root, and En is a subentity of E(n/3). Each has every option of
  /// attributes and a relationship to the next.
  private static func large(extra: Bool) throws -> ModelFile {
    var model = ModelFile()
    model.version = "1"
    for index in 0..<50 {
      var entity = ModelFile.Entity(name: "E\(index)")
      if index > 0, index % 5 > 0 || index > 45 { entity.parent = "E\(index / 3 / 5 * 5)" }
      if index > 45 { entity.parent = "E0" }
      let own = index == 0 || entity.parent == nil ? "" : "_\(index)"
      entity.attributes = ModelFile.AttributeType.allCases.map { type in
        attribute(type, type.rawValue.lowercased().filter { $0 != " " } + own, index)
      }
      entity.isAbstract = index == 5
      entity.relationships = [
        link("next", index, to: index + 1), link("previous", index, to: index - 1),
      ]
      entity.fetchIndexes = [Self.index(of: "string" + own)]
      if index % 10 == 0 { entity.uniquenessConstraints = [["uuid" + own]] }
      if extra { entity.attributes.append(.init(name: "extra\(index)", type: .string)) }
      model.entities.append(entity)
    }
    if extra { model.entities[0].attributes.append(.init(name: "extra", type: .string)) }
    var template = ModelFile.FetchTemplate(name: "some", entity: "E0")
    template.predicate = "integer16 > $LEAST"
    template.limit = 5
    template.includesSubentities = false
    model.fetchTemplates = [template]
    return try ModelFile(model.json)
  }

  private static func attribute(
    _ type: ModelFile.AttributeType, _ name: String, _ index: Int
  ) -> ModelFile.Attribute {
    var attribute = ModelFile.Attribute(name: name, type: type)
    guard index % 3 == 1 else { return attribute }
    switch type {
    case .string:
      (attribute.minimumLength, attribute.maximumLength, attribute.pattern) = (1, 40, "[a-z<>&\"]+")
      attribute.defaultValue = .string("a<b>&\"c\"")
    case .integer16, .integer32, .integer64, .decimal, .double, .float:
      attribute.minimum = .number("-8")
      attribute.maximum = .number(
        "90000000000000000".prefix(type == .integer16 ? 4 : 9).description)
      attribute.defaultValue = .number("3")
      attribute.isOptional = false
    case .date:
      attribute.minimum = .string("1969-12-31T23:59:59Z")
      attribute.defaultValue = .string("2001-01-01T00:00:00Z")
    case .boolean: attribute.defaultValue = .boolean(true)
    case .uri: attribute.defaultValue = .string("https://a.b/?c=d&e")
    case .uuid: attribute.renamingIdentifier = "old_\(name)"
    case .transformable: attribute.transformer = "Dictionary"
    case .binary: attribute.isTransient = true
    }
    return attribute
  }

  /// A relationship to the next entity, which has the inverse; the last one refers to the first.
  private static func link(_ name: String, _ index: Int, to other: Int) -> ModelFile.Relationship {
    let isNext = name == "next"
    var link = ModelFile.Relationship(
      name: "\(name)_\(index)", destination: "E\((other + 50) % 50)")
    link.inverse = "\(isNext ? "previous" : "next")_\((other + 50) % 50)"
    link.isToMany = isNext
    link.isOrdered = isNext && index % 2 == 0
    link.deleteRule = isNext ? ModelFile.DeleteRule.allCases[index % 4] : .nullify
    if isNext { link.maximumCount = 7 }
    return link
  }

  private static func index(of property: String) -> ModelFile.FetchIndex {
    var index = ModelFile.FetchIndex(name: "by_\(property)")
    var element = ModelFile.FetchIndex.Element(property: property)
    element.isDescending = true
    index.elements = [element]
    return index
  }
}
