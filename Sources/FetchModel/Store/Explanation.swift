// The response to `explain=true`: the statements of a fetch, their query plans, and indexes that would
// make them faster.

/// The response to `explain=true`.
public struct Explanation: Sendable, Hashable {
  /// A step of a query plan, with its substeps.
  public struct Step: Sendable, Hashable {
    /// The step in the database's words, such as `SCAN t0`.
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
  /// The body of the response:
  /// `{"entity":"City","statements":[{"for":"items","sql":…,"types":[…],"plan":[…],"hints":[…]}]}`
  public var json: [UInt8] {
    let statements = statements.map { statement in
      JSON.object(
        .init([
          "for": .string(statement.purpose), "sql": .string(statement.sql),
          "types": .array(statement.types.map(JSON.string)),
          "plan": .array(statement.plan.map(\.json)), "hints": .array(statement.hints.map(\.json)),
        ]))
    }
    return JSON.object(.init(["entity": .string(entity), "statements": .array(statements)])).bytes
  }
}

extension Explanation.Step {
  fileprivate var json: JSON {
    let children = children.isEmpty ? nil : JSON.array(children.map(\.json))
    return .object(.init(["detail": .string(detail), "children": children]))
  }
}

extension Explanation.Hint {
  fileprivate var json: JSON {
    .object(.init(["index": .string(index), "reason": .string(reason)]))
  }
}
