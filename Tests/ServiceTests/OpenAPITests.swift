// `/openapi.json`, compared with the routes, the model and the manual's tables of errors.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import Service

@Suite("/openapi.json", .mayBlock)
struct OpenAPITests {
  private static let fixture = """
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER NOT NULL REFERENCES Country(id), extra JSON);
    CREATE TABLE Country(code TEXT PRIMARY KEY NOT NULL, id INTEGER UNIQUE NOT NULL);
    CREATE TABLE "od/d {x}"(id INTEGER PRIMARY KEY, "a b" DATE);
    CREATE TABLE "Problem"(id INTEGER PRIMARY KEY);
    CREATE TABLE EachCity(id INTEGER PRIMARY KEY);
    CREATE TABLE Template(id INTEGER PRIMARY KEY);
    CREATE VIEW Names AS SELECT name FROM City;
    """

  private func document() throws -> JSON {
    let file = try ServedFile(Self.fixture)
    let answer = try file.ask("GET", "/openapi.json")
    #expect(answer.status == 200)
    #expect(answer["Content-Type"] == "application/json")
    return try JSON(parsing: Array(answer.text.utf8))
  }

  private func members(_ json: JSON?) -> [JSON.Member] {
    if case .object(let members)? = json { members } else { [] }
  }

  private func references(in json: JSON) -> [String] {
    switch json {
    case .object(let members):
      members.flatMap { member -> [String] in
        if member.name == "$ref", let text = member.value.string { return [text] }
        return references(in: member.value)
      }
    case .array(let elements): elements.flatMap(references)
    default: []
    }
  }

  @Test("Every request that takes an Idempotency-Key has the response for a key of another request")
  func reusedKeys() throws {
    let key = JSON.string("#/components/parameters/idempotencyKey")
    var count = 0
    for path in members(try document()["paths"]) {
      for operation in members(path.value) {
        let parameters = operation.value["parameters"]?.elements ?? []
        guard parameters.contains(where: { $0["$ref"] == key }) else { continue }
        count += 1
        #expect(
          operation.value["responses"]?["422"] != nil, "\(operation.name) \(path.name)")
      }
    }
    #expect(count > 30)
  }

  @Test("Every reference leads to a component, and every component's name is one")
  func references() throws {
    let document = try document()
    let found = Set(references(in: document))
    #expect(found.count > 60)
    for reference in found {
      let parts = reference.split(separator: "/").map(String.init)
      #expect(parts.count == 4 && parts[0] == "#" && parts[1] == "components", "\(reference)")
      #expect(document["components"]?[parts[2]]?[parts[3]] != nil, "\(reference)")
    }
    for kind in members(document["components"]) {
      for component in members(kind.value) {
        #expect(component.name.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil, "\(component.name)")
      }
    }
  }

  @Test("It contains every path and method of the API, for each entity")
  func paths() throws {
    let document = try document()
    var paths: [String: [String]] = [:]
    for path in members(document["paths"]) {
      paths[path.name] = members(path.value).map(\.name).filter { $0 != "parameters" }
    }
    #expect(paths["/v1/objects/City"] == ["get", "post", "patch", "delete"])
    #expect(paths["/v1/objects/City/{id}"] == ["get", "patch", "put", "delete"])
    #expect(paths["/v1/objects/City/{id}/{attribute}"] == ["get"])
    #expect(paths["/v1/objects/Names"] == ["get"])
    #expect(paths["/v1/objects/od%2Fd%20%7Bx%7D/{id}"] == ["get", "patch", "put", "delete"])
    for path in [
      "/", "/v1", "/v1/model", "/v1/changes", "/v1/fetches/{name}", "/openapi.json", "/metrics",
      "/health/live", "/health/ready",
    ] { #expect(paths[path] == ["get"], "\(path)") }
    for path in ["/v1/fetch", "/v1/live", "/v1/save"] {
      #expect(paths[path] == ["post"], "\(path)")
    }
    var operations: [String] = []
    for path in members(document["paths"]) {
      operations += members(path.value).compactMap { $0.value["operationId"]?.string }
    }
    #expect(Set(operations).count == operations.count)
    #expect(operations.contains("updateEachCity") && operations.contains("updateEachCity_"))
  }

  @Test("It says that a credential is needed as soon as one is")
  func protection() throws {
    let file = try ServedFile(Self.fixture)
    let first = try file.ask("/openapi.json")
    #expect(first.status == 200)
    #expect(first.json["security"] == nil)
    let key = APIKey()
    let isAdded = try file.addAPIKey(
      APIKeyRecord(
        id: key.id, name: "app", digest: key.digest, scopes: ["read"], roles: [], userID: "1",
        created: 1))
    #expect(isAdded)
    file.service.authenticator.readKeys(of: file.store)
    #expect(try file.ask("/openapi.json").status == 401)
    let protected = try file.ask(
      "/openapi.json", headers: [("Authorization", "Bearer \(key.text)")])
    #expect(protected.status == 200)
    #expect(protected.json["security"] != nil)
    #expect(protected.json["components"]?["securitySchemes"] != nil)
  }

  @Test("Its paths are those that the router knows")
  func routes() throws {
    for path in members(try document()["paths"]) where path.name != "/" {
      let target = path.name.replacingOccurrences(of: "{attribute}", with: "name")
        .replacingOccurrences(of: "{id}", with: "1").replacingOccurrences(of: "{name}", with: "x")
      let resource = try Resource(target: target)
      #expect(!resource.isFile, "\(path.name)")
      for operation in members(path.value) where operation.name != "parameters" {
        #expect(resource.allowedMethods.contains(operation.name.uppercased()), "\(path.name)")
      }
    }
  }

  @Test("Every operation has the statuses that any request can get")
  func commonStatuses() throws {
    for path in members(try document()["paths"]) {
      for operation in members(path.value) where operation.name != "parameters" {
        let statuses = members(operation.value["responses"]).map(\.name)
        for status in ["400", "414", "421", "429", "431"] {
          #expect(statuses.contains(status), "\(operation.name) \(path.name) \(status)")
        }
      }
    }
  }

  @Test("Objects, inserts and updates have the properties of their entity")
  func schemas() throws {
    let schemas = try document()["components"]?["schemas"]
    func names(_ schema: String) -> [String] {
      members(schemas?[schema]?["properties"]).map(\.name)
    }
    #expect(names("City") == ["id", "name", "population", "country", "extra"])
    #expect(names("CityUpdate") == ["name", "population", "extra", "country"])
    #expect(
      schemas?["CityInsert"]?["required"] == .array([.string("name"), .string("country")]))
    #expect(schemas?["CityUpdate"]?["required"] == nil)
    #expect(
      schemas?["City"]?["properties"]?["name"]
        == .object([
          .init(name: "type", value: .string("string"))
        ]))
    #expect(names("Country").prefix(1) == ["id"])
    // The problem's own schema keeps its name.
    #expect(names("Problem").contains("status"))
    #expect(names("Problem_") == ["id"])
  }

  @Test("A fetch gives a snapshot, a diff, or dictionaries or that none changed")
  func fetchAnswers() throws {
    let fetch = try document()["paths"]?["/v1/objects/City"]?["get"]
    let schema = fetch?["responses"]?["200"]?["content"]?["application/json"]?["schema"]
    #expect(
      references(in: try #require(schema)).map { $0.split(separator: "/").last } == [
        "CitySnapshot", "CityDiff", "Count", "Reset", "Unchanged",
      ])
  }

  @Test("It contains every parameter of a fetch")
  func parameters() throws {
    let parameters = try document()["components"]?["parameters"]
    for name in FetchRequest.parameterNames {
      #expect(parameters?[name]?["name"] == .string(name), "\(name)")
    }
    #expect(OpenAPIDocument.allFetchParameters.sorted() == FetchRequest.parameterNames.sorted())
  }

  @Test("Every code that the sources use is in the catalog and the document")
  func codes() throws {
    let known = Set(ProblemCatalog.entries.map(\.code))
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../..").standardizedFileURL
    for code in try Self.codesInSources(root) { #expect(known.contains(code), "\(code)") }
    for code in PredicateError.Code.allCases { #expect(known.contains(code.rawValue)) }
    let listed = try document()["components"]?["schemas"]?["ProblemCode"]?["enum"]
    let codes = try #require(listed?.elements)
    for entry in ProblemCatalog.entries { #expect(codes.contains(.string(entry.code))) }
  }

  @Test("The manual's table of errors has every code with its status, and no other")
  func manualCodes() throws {
    let rows = try ManualPage("Public/docs/errors.md").lines.compactMap { line in
      line.prefixMatch(of: /\| ([1-5][0-9][0-9]) \| `([a-z-]+)` \|/).map { "\($0.1) \($0.2)" }
    }
    #expect(rows.sorted() == ProblemCatalog.entries.map { "\($0.status) \($0.code)" }.sorted())
  }

  @Test("The manual's table of failures of a save has every code")
  func manualChangeCodes() throws {
    let page = try ManualPage("Public/docs/errors.md").text
    let section = try #require(page.components(separatedBy: "## Failures of a save").last)
    for code in ChangeProblem.Code.allCases {
      #expect(section.contains("`\(code.rawValue)`"), "\(code)")
    }
  }

  /// The code of every problem in the sources.
  private static func codesInSources(_ root: URL) throws -> Set<String> {
    let pattern =
      #/(?:badRequest\(|notFound\(|(?:Problem|init)\(\s*[1-5]\d\d,|code:)\s*"([a-z][a-z-]+)"/#
    var codes: Set<String> = []
    for folder in ["Service", "LiveFetchHTTPServer", "FetchModel/Problems"] {
      let directory = root.appendingPathComponent("Sources/\(folder)")
      let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        for match in text.matches(of: pattern) { codes.insert(String(match.1)) }
      }
    }
    #expect(codes.count > 35)
    return codes
  }
}
