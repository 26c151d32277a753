// Random requests to a generated store.

import FetchModel
import Foundation
import TestSupport

/// A request without a credential.
struct GeneratedRequest {
  var method = "GET"
  var target: String
  var body: String?
  var headers: [(name: String, value: String)] = []
  /// True if the response is one object or one value: its ETag has nothing of the store in it.
  var isSingle = false

  static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
  }
}

/// The parameters of a fetch.
struct GeneratedFetch {
  let entity: String
  var parameters: [(name: String, values: [String])] = []

  private static let lists: Set = ["select", "sort", "expand", "group"]
  private static let numbers: Set = ["limit", "offset", "wait"]

  subscript(name: String) -> [String]? { parameters.first { $0.name == name }?.values }

  func with(_ name: String, _ value: String) -> GeneratedFetch {
    var fetch = self
    fetch.parameters.append((name, [value]))
    return fetch
  }

  var target: String {
    let query = parameters.map {
      "\($0.name)=\(GeneratedRequest.escaped($0.values.joined(separator: ",")))"
    }
    return "/v1/objects/\(entity)" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
  }

  /// The fetch as the JSON of `POST /v1/fetch` and `POST /v1/live`.
  var body: String {
    func text(_ value: String) -> String {
      "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
    let members = parameters.map { name, values in
      let isWord = name == "digest" || name == "subentities" || name == "distinct"
      let value =
        Self.lists.contains(name)
        ? "[\(values.map(text).joined(separator: ","))]"
        : Self.numbers.contains(name) || isWord ? values[0] : text(values[0])
      return "\"\(name)\":\(value)"
    }
    return "{\((["\"entity\":\(text(entity))"] + members).joined(separator: ","))}"
  }
}

/// Makes requests to the entities of a store, and saves.
struct GeneratedRequests: SeededCaseGenerator {
  var random: SeededRandom
  let store: GeneratedStore
  let model: ServedModel
  private var predicates: GeneratedPredicates
  private var insertions = 0

  init(seed: UInt64, store: GeneratedStore, model: ServedModel) {
    random = SeededRandom(seed: seed)
    self.store = store
    self.model = model
    predicates = GeneratedPredicates(seed: ~seed, model: model, namesCaller: false)
  }

  private mutating func entity() -> Int { number(0...model.entities.count - 1) }

  // MARK: Fetches

  /// A path to one value.
  private mutating func value(of entity: Int) -> String {
    let (path, end) = predicates.path(from: entity)
    return path + pick(model.entities[end].attributes).name
  }

  private mutating func order(of entity: Int) -> String {
    let direction = pick(["", "-"])
    let (path, end) = predicates.path(from: entity)
    let attribute = pick(model.entities[end].attributes)
    let options = ["", "", ":nullslast", ":nullsfirst"]
    let forms = [":c", ":d", ":cd", ":cd:nullslast"]
    return direction + path + attribute.name
      + pick(attribute.type == .string ? options + forms : options)
  }

  private mutating func section(of entity: Int) -> String {
    let (path, end) = predicates.path(from: entity)
    let attribute = pick(model.entities[end].attributes)
    let part =
      switch attribute.type {
      case .string: pick(["", ":initial", ":cd"])
      case .date: pick([":day", ":month", ":year"])
      default: ""
      }
    return pick(["", "-"]) + path + attribute.name + part
  }

  /// A fetch of objects, ids or a count.
  mutating func fetch(isOrdered: Bool = false) -> GeneratedFetch {
    let entity = entity()
    var fetch = GeneratedFetch(entity: model.entities[entity].name)
    func add(_ name: String, _ values: String...) { fetch.parameters.append((name, values)) }
    if oneIn(2) { add("where", predicates.predicate(of: entity)) }
    if isOrdered || oneIn(2) { add("sort", order(of: entity), order(of: entity)) }
    if oneIn(3) { add("section", section(of: entity)) }
    if oneIn(3) {
      add("limit", "\(number(0...4))")
      if oneIn(2) { add("offset", "\(number(0...2))") }
    }
    if oneIn(4) { add("count", "exact") }
    if oneIn(3) { add("digest", "true") }
    if oneIn(8) { add("subentities", "false") }
    if oneIn(8) { add("int64", "string") }
    let links = model.entities[entity].relationships.map(\.name)
    switch number(0...5) {
    case 0: add("as", "ids")
    case 1:
      fetch.parameters = fetch["where"].map { [("where", $0)] } ?? []
      add("as", "count")
    case 2:
      var names = [value(of: entity), value(of: entity), "@etag"]
      if !links.isEmpty { names.append(pick(links)) }
      fetch.parameters.append(("select", Array(Set(names)).sorted()))
    case 3 where !links.isEmpty:
      let link = pick(model.entities[entity].relationships)
      let further = model.entities[link.destination].relationships.map(\.name)
      var paths = [link.name]
      if !further.isEmpty { paths.append("\(link.name).\(pick(further))") }
      fetch.parameters.append(("expand", paths))
    default: break
    }
    return fetch
  }

  /// A fetch of dictionaries.
  mutating func dictionaries() -> GeneratedFetch {
    let entity = entity()
    var fetch = GeneratedFetch(entity: model.entities[entity].name)
    func add(_ name: String, _ values: String...) { fetch.parameters.append((name, values)) }
    add("as", "dictionaries")
    if oneIn(2) { add("where", predicates.predicate(of: entity)) }
    let path = value(of: entity)
    let numbers = model.entities[entity].attributes.filter(\.type.isNumber).map(\.name)
    var columns = ["n:@count"]
    if !numbers.isEmpty { columns.append("m:\(pick(["@sum", "@max", "@avg"])).\(pick(numbers))") }
    let toMany = model.entities[entity].toMany.map(\.name)
    switch number(0...2) {
    case 0:
      fetch.parameters.append(("select", ["k:\(path)"] + columns))
      add("group", "k")
      if oneIn(2) { add("having", "n > 1") }
      if oneIn(2) { add("sort", "-n") }
    case 1: fetch.parameters.append(("select", columns + ["d:@distinctUnionOfObjects.\(path)"]))
    default:
      var list = ["k:\(path)"]
      if !toMany.isEmpty { list.append("c:\(pick(toMany)).@count") }
      fetch.parameters.append(("select", list))
      if oneIn(2) { add("distinct", "true") }
      if oneIn(3) { add("limit", "3") }
    }
    return fetch
  }

  // MARK: Requests

  private func path(_ entity: Int, _ id: JSON) -> String {
    let text = id.string ?? id.integer.map { "\($0)" } ?? ""
    return "/v1/objects/\(model.entities[entity].name)/\(GeneratedRequest.escaped(text))"
  }

  /// The id of one of the first objects, or of one that is not there.
  private mutating func id(_ entity: Int, missing: Int = 8) -> JSON {
    if oneIn(missing) { return store.id(entity, 77) }
    // Some ids of a subentity's paths are those of its parent's objects.
    return store.id(entity, pick(store.allNumbers(of: oneIn(6) ? store.root(of: entity) : entity)))
  }

  /// The path of an object.
  mutating func object() -> String {
    let entity = entity()
    return path(entity, id(entity))
  }

  /// Requests for one object or one value.
  mutating func singles() -> [GeneratedRequest] {
    var requests: [GeneratedRequest] = []
    for entity in model.entities.indices {
      for _ in 1...4 {
        let path = path(entity, id(entity))
        let name = pick(model.entities[entity].attributes).name
        requests.append(GeneratedRequest(target: path, isSingle: true))
        requests.append(
          GeneratedRequest(
            method: pick(["GET", "HEAD"]), target: "\(path)/\(name)",
            headers: oneIn(3) ? [("Range", "bytes=0-0")] : [], isSingle: true))
        requests.append(
          GeneratedRequest(
            target: "\(path)?select=\(value(of: entity)),@etag", isSingle: true))
        let links = model.entities[entity].relationships
        if !links.isEmpty {
          requests.append(
            GeneratedRequest(target: "\(path)?expand=\(pick(links).name)", isSingle: true))
        }
      }
      let last = path(entity, id(entity))
      requests.append(GeneratedRequest(method: "OPTIONS", target: last))
      requests.append(GeneratedRequest(target: "\(last)?since=now&wait=0"))
      requests.append(GeneratedRequest(target: "\(last)/nothing"))
      requests.append(GeneratedRequest(method: "POST", target: last, body: "{}"))
    }
    return requests
  }

  /// A fetch whose predicate has its attribute and its value as arguments.
  private mutating func bodyWithArguments() -> String {
    let entity = model.entities[entity()]
    let attribute = pick(entity.attributes)
    let arguments = "\"\(attribute.name)\",\(attribute.type.json(number(0...9)))"
    return #"{"entity":"\#(entity.name)","where":"%K == %@","arguments":[\#(arguments)]}"#
  }

  /// Requests with any of the other routes and forms.
  mutating func others() -> [GeneratedRequest] {
    var requests = [
      "/v1", "/v1/model", "/openapi.json", "/health/live", "/health/ready", "/metrics",
      "/v1/nothing", "/v1/objects/nothing", "/v1/fetches/template1", "/v1/fetches/template2?as=ids",
      "/v1/fetches/nothing", "/v1/changes", "/v1/changes?since=now&wait=0",
    ].map { GeneratedRequest(target: $0) }
    for _ in 1...3 {
      let (fetch, first, second) = (self.fetch(), self.fetch(), dictionaries())
      requests += [
        GeneratedRequest(method: "HEAD", target: fetch.target),
        GeneratedRequest(method: "POST", target: "/v1/fetch", body: fetch.body),
        GeneratedRequest(method: "POST", target: "/v1/fetch", body: bodyWithArguments()),
        GeneratedRequest(
          method: "POST", target: "/v1/live",
          body: #"{"fetches":{"a":\#(first.body),"b":\#(second.body)},"wait":0}"#),
        GeneratedRequest(target: first.with("since", "now").with("wait", "0").target),
        GeneratedRequest(target: first.with("since", "x").target),
        GeneratedRequest(target: first.with("since", "k3-1-00000000").with("wait", "0").target),
        GeneratedRequest(target: first.with("after", "x").target),
        GeneratedRequest(target: first.with("unknown", "x").target),
        GeneratedRequest(target: first.with("explain", "true").target),
        GeneratedRequest(target: second.with("section", value(of: entity())).target),
        GeneratedRequest(method: "PUT", target: first.target, body: "{}"),
      ]
    }
    // Names that no entity has, near to those of hidden attributes.
    for index in model.entities.indices {
      let name = pick(model.entities[index].attributes).name
      for parameter in ["sort", "select", "section", "where"] {
        let text = parameter == "where" ? "\(name)x > 1" : "\(name)x"
        let fetch = GeneratedFetch(entity: model.entities[index].name).with(parameter, text)
        requests.append(GeneratedRequest(target: fetch.target))
      }
    }
    return requests
  }

  /// Changes that are refused, or for which there is no object: none changes the store.
  ///
  /// - Parameters:
  ///   - entities: Those of which the rules allow every change.
  ///   - hidden: The attributes that the caller does not see. An insertion lacks a required one.
  mutating func refusedChanges(
    _ entities: [Int], hidden: Set<String>
  ) -> [GeneratedRequest] {
    var requests: [GeneratedRequest] = []
    func add(
      _ method: String, _ target: String, _ body: String?,
      _ headers: [(name: String, value: String)] = []
    ) {
      requests.append(
        GeneratedRequest(method: method, target: target, body: body, headers: headers))
    }
    for entity in entities {
      let name = model.entities[entity].name
      let attributes = model.entities[entity].attributes.filter { !$0.isKeyPart }
      for _ in 1...3 {
        let id = id(entity)
        let path = path(entity, id)
        let attribute = pick(attributes)
        let value = "\"\(attribute.name)\":\(attribute.type.json(number(0...9)))"
        add("PATCH", path, "{\(value)}", [("If-Match", "\"x\"")])
        add("PUT", path, "{\(value)}", [("If-Match", "\"x\"")])
        add("DELETE", path, nil, [("If-Match", "\"x\"")])
        add("PATCH", path, "{\"\(attribute.name)x\":1}")
        let missing = #"{"delete":"\#(name)","id":\#(text(store.id(entity, 78)))}"#
        let object = #""update":"\#(name)","id":\#(text(id)),"values":{\#(value)}"#
        add("POST", "/v1/save", #"{"changes":[{\#(object),"ifMatch":"\"x\""},\#(missing)]}"#)
        add("POST", "/v1/save", #"{"changes":[{\#(object),"base":{\#(value)}},\#(missing)]}"#)
        let condition = predicates.predicate(of: entity)
        let batch = "/v1/objects/\(name)?where=\(GeneratedRequest.escaped(condition))"
        add("PATCH", batch, "{\(value)}", [("Prefer", "max-affected=0")])
        add("DELETE", batch, nil, [("Prefer", "max-affected=0")])
      }
      if attributes.contains(where: { !$0.isOptional && hidden.contains($0.name) }) { continue }
      let typed = attributes.filter { $0.type != .json }
      if !typed.isEmpty {
        add("POST", "/v1/objects/\(name)", "{\"\(pick(typed).name)\":[1]}")
        add("PATCH", path(entity, id(entity)), "{\"\(pick(typed).name)\":[1]}")
      }
      add("POST", "/v1/objects/\(name)", "{\"\(pick(attributes).name)x\":1}")
    }
    return requests
  }

  // MARK: Saves

  private func text(_ id: JSON) -> String {
    id.string.map { "\"\($0)\"" } ?? id.integer.map { "\($0)" } ?? "null"
  }

  private mutating func savedID(_ entity: Int) -> String { text(id(entity, missing: 20)) }

  private mutating func values(
    of entity: Int, isInsert: Bool, hidden: Set<String>?
  ) -> [String] {
    var values: [String] = []
    let attributes = model.entities[entity].attributes.filter { !$0.isKeyPart }
    for (index, attribute) in attributes.enumerated() {
      guard isInsert ? !attribute.isOptional || oneIn(2) : index == 0 || oneIn(2) else { continue }
      if hidden?.contains(attribute.name) ?? false, !oneIn(6) { continue }
      let isNil = attribute.isOptional && oneIn(5)
      values.append(
        "\"\(attribute.name)\":\(isNil ? "null" : attribute.type.json(number(0...9)))")
    }
    for link in model.entities[entity].toOne where hidden == nil || !link.isOneToOne {
      guard isInsert ? !link.isOptional || oneIn(2) : oneIn(3) else { continue }
      let value = link.isOptional && oneIn(5) ? "null" : savedID(link.destination)
      values.append("\"\(link.name)\":\(value)")
    }
    return values
  }

  /// A save of one change by the server token.
  mutating func save() -> String { save(Array(model.entities.indices), hidden: nil) }

  /// A save of one change by a caller who may change every object that it can read. It deletes nothing
  /// and sets no one-to-one relationship: unreadable objects may prevent that.
  ///
  /// - Parameters:
  ///   - entities: Those of which the rules allow every change, and whose tables do not refer to
  ///     themselves.
  ///   - hidden: The attributes that the caller does not see.
  mutating func callersSave(_ entities: [Int], hidden: Set<String>) -> String {
    save(entities, hidden: hidden)
  }

  /// A change of all objects for which a predicate is true, by a caller who may change every object that
  /// it can read. It deletes only objects to which none refers: unreadable ones may prevent that.
  ///
  /// - Parameter entities: Those of ``callersSave(_:hidden:)``.
  mutating func batch(_ entities: [Int]) -> GeneratedRequest {
    let entity = pick(entities)
    let condition = oneIn(3) ? "TRUEPREDICATE" : predicates.predicate(of: entity)
    let target =
      "/v1/objects/\(model.entities[entity].name)?where=\(GeneratedRequest.escaped(condition))"
    let preference = pick(["", "max-affected=1", "max-affected=2", "max-affected=1000"])
    let headers = preference.isEmpty ? [] : [(name: "Prefer", value: preference)]
    if !store.isReferredTo(entity), oneIn(3) {
      return GeneratedRequest(method: "DELETE", target: target, headers: headers)
    }
    let attribute = pick(model.entities[entity].attributes.filter { !$0.isKeyPart })
    let body = "{\"\(attribute.name)\":\(attribute.type.json(number(0...9)))}"
    return GeneratedRequest(method: "PATCH", target: target, body: body, headers: headers)
  }

  private mutating func save(_ entities: [Int], hidden: Set<String>?) -> String {
    let entity = pick(entities)
    let name = model.entities[entity].name
    let id = savedID(entity)
    let lacksValue = model.entities[entity].attributes.contains {
      !$0.isOptional && hidden?.contains($0.name) ?? false
    }
    let links = model.entities[entity].toMany.filter { entities.contains($0.destination) }
    let change: String
    switch number(0...7) {
    case 0 where !lacksValue:
      insertions += 1
      var values = values(of: entity, isInsert: true, hidden: hidden)
      values.append("\"id\":\(text(store.id(entity, 100 + insertions)))")
      change = #"{"insert":"\#(name)","values":{\#(values.joined(separator: ","))}}"#
    case 1 where hidden == nil: change = #"{"delete":"\#(name)","id":\#(id)}"#
    case 2 where !links.isEmpty, 3 where !links.isEmpty:
      let link = pick(links)
      let (kind, member) = (pick(["add", "add", "remove"]), savedID(link.destination))
      let value = oneIn(4) ? "[\(member)]" : #"{"\#(kind)":[\#(member)]}"#
      change = #"{"update":"\#(name)","id":\#(id),"values":{"\#(link.name)":\#(value)}}"#
    default:
      let values = values(of: entity, isInsert: false, hidden: hidden).joined(separator: ",")
      change = #"{"update":"\#(name)","id":\#(id),"values":{\#(values)}}"#
    }
    return #"{"changes":[\#(change)]}"#
  }
}
