// JSON text → `ModelFile`. Reports every error of form; a later check covers the meaning of names.

extension ModelFile {
  /// Reads and checks a model.
  ///
  /// - Throws: Every problem found, each with its location.
  public init(parsing text: [UInt8]) throws(ModelFileError) {
    try self.init(try JSON(modelText: text))
  }

  /// Reads and checks a model.
  ///
  /// - Throws: Every problem found, each with its location.
  public init(_ json: JSON) throws(ModelFileError) { try self.init(json, isStored: false) }

  private init(_ json: JSON, isStored: Bool) throws(ModelFileError) {
    let problems = ProblemList()
    self.init(MemberReader(json, at: "", problems))
    if problems.all.isEmpty { problems.all += self.problems(isStored: isStored) }
    guard problems.all.isEmpty else { throw ModelFileError(problems.all) }
  }

  /// Reads the text that a store keeps of its model.
  package init(stored text: String) throws(StoreError) {
    do {
      try self.init(JSON(modelText: Array(text.utf8)), isStored: true)
    } catch {
      throw .unusable("the stored model cannot be read: \(error)")
    }
  }

  private init(_ reader: MemberReader) {
    self.init()
    _ = reader.string("$schema")
    version = reader.string("version")
    allowsByDefault = reader.accessDefault()
    entities = reader.named("entities") { Entity($0, $1) }
    classes = reader.named("classes") { Class($0, $1) }
    fetchTemplates = reader.named("fetchTemplates") { FetchTemplate($0, $1) }
    reader.finish()
  }
}

extension JSON {
  /// Parses the text of a model or rule file.
  ///
  /// - Throws: The line and the column of a syntax error.
  init(modelText text: [UInt8]) throws(ModelFileError) {
    do {
      self = try JSON(parsing: text)
    } catch {
      let before = text.prefix(error.offset)
      let line = before.count { $0 == 0x0A } + 1
      let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
      throw ModelFileError([
        ModelFileProblem("line \(line), column \(column)", "expected \(error.expected)")
      ])
    }
  }
}

/// The problems found so far, for one reading.
final class ProblemList {
  var all: [ModelFileProblem] = []
}

/// Reads the members of one object. Every member that is not read is a problem.
final class MemberReader {
  private let members: [JSON.Member]
  private var readNames: Set<String> = []
  private let problems: ProblemList
  private(set) var place: String

  init(_ json: JSON, at place: String, _ problems: ProblemList) {
    self.place = place
    self.problems = problems
    if case .object(let members) = json {
      self.members = members
    } else {
      members = []
      problems.all.append(ModelFileProblem(place, "has to be an object, not \(json.kind)"))
    }
  }

  func report(_ name: String, _ reason: String) {
    problems.all.append(ModelFileProblem(at(name), reason))
  }

  private func at(_ name: String) -> String { place.isEmpty ? name : "\(place)/\(name)" }

  func value(_ name: String) -> JSON? {
    readNames.insert(name)
    return members.first { $0.name == name }?.value
  }

  func converted<Wanted>(
    _ name: String, _ phrase: String, _ convert: (JSON) -> Wanted?
  ) -> Wanted? {
    guard let value = value(name) else { return nil }
    guard let converted = convert(value) else {
      report(name, "has to be \(phrase), not \(value.kind)")
      return nil
    }
    return converted
  }

  func string(_ name: String) -> String? { converted(name, "a string") { $0.string } }

  /// Reports a missing one.
  func required(_ name: String) -> String? {
    if value(name) == nil { report(name, "is needed") }
    return string(name)
  }

  func flag(_ name: String) -> Bool? {
    converted(name, "true or false") { if case .boolean(let flag) = $0 { flag } else { nil } }
  }

  func count(_ name: String) -> Int? {
    converted(name, "a whole number from 0 to \(Int32.max)") {
      $0.integer.flatMap { (0...Int64(Int32.max)).contains($0) ? Int($0) : nil }
    }
  }

  func strings(_ name: String) -> [String] {
    converted(name, "an array of strings") { Self.strings($0) } ?? []
  }

  func lists(_ name: String) -> [[String]] {
    converted(name, "an array of arrays of strings") { json -> [[String]]? in
      guard case .array(let elements) = json else { return nil }
      let lists = elements.compactMap { Self.strings($0) }
      return lists.count == elements.count ? lists : nil
    } ?? []
  }

  private static func strings(_ json: JSON) -> [String]? {
    guard case .array(let elements) = json else { return nil }
    let strings = elements.compactMap(\.string)
    return strings.count == elements.count ? strings : nil
  }

  /// Returns the raw value of a type with fixed cases.
  func choice<Choice>(_ name: String, _ type: Choice.Type = Choice.self) -> Choice?
  where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
    guard let text = string(name) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let names = Choice.allCases.map(\.rawValue)
    let hint = nearestName(to: text, among: names).map { "; did you mean `\($0)`?" } ?? ""
    report(name, "`\(text)` is none of \(names.joined(separator: ", "))\(hint)")
    return nil
  }

  /// Returns the reader of an object; nil without one.
  func object(_ name: String) -> MemberReader? {
    value(name).map { MemberReader($0, at: at(name), problems) }
  }

  /// Returns the members of an object whose values are objects, by their names.
  func members(of name: String) -> [(name: String, reader: MemberReader)] {
    guard let reader = object(name) else { return [] }
    return reader.members.map { member in
      (member.name, MemberReader(member.value, at: reader.at(member.name), problems))
    }
  }

  /// Returns the elements of an array of named objects, or of an object with each under its name.
  func named<Element>(
    _ name: String, _ make: (String, MemberReader) -> Element?
  ) -> [Element] {
    if case .object? = value(name) {
      return self.members(of: name).compactMap { make($0.name, $0.reader) }
    }
    return objects(name) { reader, index in
      guard let own = reader.required("name") else { return nil }
      reader.place = "\(at(name))/\(own)"
      return make(own, reader)
    }
  }

  func objects<Element>(
    _ name: String, _ make: (MemberReader, Int) -> Element?
  ) -> [Element] {
    guard let value = value(name) else { return [] }
    guard case .array(let elements) = value else {
      report(name, "has to be an array, not \(value.kind)")
      return []
    }
    return elements.enumerated().compactMap { index, json in
      let reader = MemberReader(json, at: "\(at(name))/\(index)", problems)
      guard case .object = json else { return nil }
      return make(reader, index)
    }
  }

  /// Reports the members that were not read.
  func finish() {
    for member in members where !readNames.contains(member.name) {
      let hint = nearestName(to: member.name, among: Array(readNames))
      let known = readNames.sorted().map { "`\($0)`" }.joined(separator: ", ")
      report(
        member.name,
        "is not known here; " + (hint.map { "did you mean `\($0)`?" } ?? "known are \(known)"))
    }
  }
}

// MARK: - The parts

extension ModelFile.Entity {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    self.init(name: name)
    parent = reader.string("parent")
    isAbstract = reader.flag("abstract") ?? false
    attributes = reader.named("attributes") { ModelFile.Attribute($0, $1) }
    relationships = reader.named("relationships") { ModelFile.Relationship($0, $1) }
    fetchIndexes = reader.named("fetchIndexes") { ModelFile.FetchIndex($0, $1) }
    uniquenessConstraints = reader.lists("uniquenessConstraints")
    sort = reader.strings("sort")
    renamingIdentifier = reader.string("renamingIdentifier")
    access = reader.accessRules()
    reader.finish()
  }
}

extension ModelFile.Attribute {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    if reader.value("type") == nil { reader.report("type", "is needed") }
    self.init(name: name, type: reader.choice("type") ?? .string)
    isOptional = reader.flag("optional") ?? true
    defaultValue = reader.value("default").flatMap { $0 == .null ? nil : $0 }
    minimum = reader.value("minimum")
    maximum = reader.value("maximum")
    minimumLength = reader.count("minimumLength")
    maximumLength = reader.count("maximumLength")
    pattern = reader.string("regex")
    isTransient = reader.flag("transient") ?? false
    if let text = reader.string("derivation") {
      derivation = Derivation(text)
      if derivation == nil {
        reader.report(
          "derivation",
          "`\(text)` is none of canonical:(a), uppercase:(a), lowercase:(a), a to-one key path, "
            + "r.@count, r.@sum.a and now()")
      }
    }
    transformer = reader.string("transformer")
    className = reader.string("class")
    renamingIdentifier = reader.string("renamingIdentifier")
    hidden = reader.accessRule("hidden")
    readOnly = reader.accessRule("readOnly")
    reader.finish()
  }
}

extension ModelFile.Relationship {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    guard let destination = reader.required("destination") else { return nil }
    self.init(name: name, destination: destination)
    isToMany = reader.flag("toMany") ?? false
    isOrdered = reader.flag("ordered") ?? false
    isOptional = reader.flag("optional") ?? true
    inverse = reader.string("inverse")
    deleteRule = reader.choice("deleteRule") ?? .nullify
    minimumCount = reader.count("minimumCount")
    maximumCount = reader.count("maximumCount")
    renamingIdentifier = reader.string("renamingIdentifier")
    reader.finish()
  }
}

extension ModelFile.FetchIndex {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    self.init(name: name)
    elements = reader.objects("elements") { reader, _ in
      guard let property = reader.required("property") else { return nil }
      var element = Element(property: property)
      element.isDescending = reader.flag("descending") ?? false
      reader.finish()
      return element
    }
    reader.finish()
  }
}

extension ModelFile.Class {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    self.init(name: name)
    parent = reader.string("parent")
    isAbstract = reader.flag("abstract") ?? false
    fields = reader.named("fields") { name, reader in
      guard let type = reader.required("type") else { return nil }
      var field = Field(name: name, type: ModelFile.FieldType(type))
      field.isOptional = reader.flag("optional") ?? true
      field.isList = reader.flag("list") ?? false
      reader.finish()
      return field
    }
    reader.finish()
  }
}

extension ModelFile.FieldType {
  /// An attribute's type, `Color`, `Dictionary`, or the name of a class.
  init(_ text: String) {
    if let type = ModelFile.AttributeType(rawValue: text), type != .transformable {
      self = .value(type)
    } else if text == "Color" {
      self = .color
    } else {
      self = text == "Dictionary" ? .dictionary : .object(text)
    }
  }

  var text: String {
    switch self {
    case .value(let type): type.rawValue
    case .color: "Color"
    case .dictionary: "Dictionary"
    case .object(let name): name
    }
  }
}

extension ModelFile.FetchTemplate {
  fileprivate init?(_ name: String, _ reader: MemberReader) {
    guard let entity = reader.required("entity") else { return nil }
    self.init(name: name, entity: entity)
    predicate = reader.string("predicate")
    sort = reader.strings("sort")
    limit = reader.count("limit")
    includesSubentities = reader.flag("subentities") ?? true
    reader.finish()
  }
}
