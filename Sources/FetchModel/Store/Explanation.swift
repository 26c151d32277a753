// The execution of a fetch, explained to users: its statements, their query plans, and indexes that
// would help.

/// The response to `explain=true`.
public struct Explanation: Sendable, Hashable {
  /// A step of a query plan, with its substeps.
  public struct Step: Sendable, Hashable {
    /// The database's description of the step.
    public let detail: String
    /// The substeps, in the database's order.
    public let children: [Step]

    /// Makes a step.
    public init(detail: String, children: [Step] = []) {
      self.detail = detail
      self.children = children
    }
  }

  /// An index that would make the fetch faster.
  public struct Hint: Sendable, Hashable {
    /// The CREATE INDEX statement.
    public let index: String
    /// The reason why the statement is slow without the index, as a clause.
    public let reason: String

    /// Makes a hint.
    public init(index: String, reason: String) {
      self.index = index
      self.reason = reason
    }
  }

  /// A query of the store.
  public struct Statement: Sendable, Hashable {
    /// The purpose: `items`, `item`, `total`, `dictionaries` or `included`.
    public let purpose: String
    /// The statement's SQL, with placeholders for the bound values.
    public let sql: String
    /// The types of the bound values, in order. The values themselves are confidential.
    public let types: [String]
    /// The database's query plan.
    public let plan: [Step]
    /// Indexes that would make the statement faster; empty if none is known.
    public let hints: [Hint]

    /// Makes a statement.
    public init(purpose: String, sql: String, types: [String], plan: [Step], hints: [Hint]) {
      self.purpose = purpose
      self.sql = sql
      self.types = types
      self.plan = plan
      self.hints = hints
    }
  }

  /// The name of the fetch's entity.
  public let entity: String
  /// The statements of the fetch, each with its plan.
  public let statements: [Statement]

  /// Makes an explanation.
  public init(entity: String, statements: [Statement]) {
    self.entity = entity
    self.statements = statements
  }
}

extension Explanation {
  /// `{"entity":"City","statements":[{"for":"items","sql":…,"types":[…],"plan":[…],"hints":[…]}]}`
  public var json: [UInt8] {
    var json: [UInt8] = []
    json.append(json: "{\"entity\":")
    json.append(jsonString: entity)
    json.append(json: ",\"statements\":")
    json.append(jsonArray: statements) { statement, json in
      json.append(json: "{\"for\":")
      json.append(jsonString: statement.purpose)
      json.append(json: ",\"sql\":")
      json.append(jsonString: statement.sql)
      json.append(json: ",\"types\":")
      json.append(jsonArray: statement.types) { type, json in json.append(jsonString: type) }
      json.append(json: ",\"plan\":")
      json.append(jsonArray: statement.plan, Self.append)
      json.append(json: ",\"hints\":")
      json.append(jsonArray: statement.hints, Self.append)
      json.append(0x7D)
    }
    json.append(0x7D)
    return json
  }

  private static func append(_ step: Step, to json: inout [UInt8]) {
    json.append(json: "{\"detail\":")
    json.append(jsonString: step.detail)
    if !step.children.isEmpty {
      json.append(json: ",\"children\":")
      json.append(jsonArray: step.children, append)
    }
    json.append(0x7D)
  }

  private static func append(_ hint: Hint, to json: inout [UInt8]) {
    json.append(json: "{\"index\":")
    json.append(jsonString: hint.index)
    json.append(json: ",\"reason\":")
    json.append(jsonString: hint.reason)
    json.append(0x7D)
  }
}
