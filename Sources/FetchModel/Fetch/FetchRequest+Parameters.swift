// Named values → FetchRequest. The query string and the JSON body have the same names; they
// differ in how a value is written, which `ParameterValue` hides.

/// One parameter's value as it came.
public enum ParameterValue: Sendable, Hashable {
  /// From a query string.
  case text(String)
  /// From a JSON body.
  case json(JSON)
}

extension FetchRequest {
  /// Every parameter name of a fetch, except `var.NAME` and, in JSON, `entity`, `arguments` and
  /// `variables`.
  public static let parameterNames = [
    "where", "arg", "sort", "section", "limit", "offset", "after", "select", "expand", "as",
    "group", "having", "distinct", "count", "subentities", "digest", "int64", "since", "wait",
    "explain",
  ]

  /// Reads the parameters of a query string, decoded into names and values.
  public init(
    entity: String, query: [(name: String, value: String)]
  ) throws(FetchRequestError) {
    self.init(entity: entity)
    var seen: Set<String> = []
    for (name, value) in query {
      guard name == "arg" || seen.insert(name).inserted else {
        throw .repeatedParameter(name: name)
      }
      if name == "arg" {
        arguments.append(.text(value))
      } else if name.hasPrefix("var."), name.utf8.count > 4 {
        variables[String(name.dropFirst(4))] = .text(value)
      } else {
        try set(name, .text(value))
      }
    }
  }

  /// Reads the members of a JSON body; `entity` is required.
  public init(json: JSON) throws(FetchRequestError) {
    guard case .object(let members) = json else {
      throw .badValue(parameter: "body", detail: "an object, not \(json.kind)")
    }
    guard let entity = json["entity"]?.string else {
      throw .badValue(parameter: "entity", detail: "the name of an entity is required")
    }
    self.init(entity: entity)
    for member in members where member.name != "entity" {
      switch member.name {
      case "arguments": try setArguments(member.value)
      case "variables": try setVariables(member.value)
      case "arg": throw .unknownParameter(name: "arg", hint: "arguments")
      default: try set(member.name, .json(member.value))
      }
    }
  }

  private mutating func setArguments(_ value: JSON) throws(FetchRequestError) {
    guard case .array(let elements) = value else {
      throw .badValue(parameter: "arguments", detail: "an array, not \(value.kind)")
    }
    arguments = elements.map { .json($0) }
  }

  private mutating func setVariables(_ value: JSON) throws(FetchRequestError) {
    guard case .object(let members) = value else {
      throw .badValue(parameter: "variables", detail: "an object, not \(value.kind)")
    }
    for member in members { variables[member.name] = .json(member.value) }
  }

  private mutating func set(
    _ name: String, _ value: ParameterValue
  ) throws(FetchRequestError) {
    let parameter = Parameter(name: name, value: value)
    switch name {
    case "where": predicate = try parameter.text()
    case "sort": sort = try parameter.list()
    case "section": section = try parameter.text()
    case "limit": limit = try parameter.count()
    case "offset": offset = try parameter.count()
    case "after": after = try parameter.text()
    case "select": select = try parameter.expressions()
    case "expand": expand = try parameter.list()
    case "as": shape = try parameter.choice()
    case "group": group = try parameter.list()
    case "having": having = try parameter.text()
    case "distinct": isDistinct = try parameter.flag()
    case "count": withTotal = try parameter.flag(named: "exact")
    case "subentities": subentities = try parameter.flag()
    case "digest": withDigest = try parameter.flag()
    case "int64": integersAsStrings = try parameter.flag(named: "string")
    case "since": since = try parameter.since()
    case "wait": wait = try parameter.seconds(atMost: Self.longestWait)
    case "explain": explains = try parameter.flag()
    default:
      throw .unknownParameter(
        name: name, hint: nearestName(to: name, among: Self.parameterNames))
    }
  }
}
