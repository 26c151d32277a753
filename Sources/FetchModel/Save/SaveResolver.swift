// A save's JSON and a `Model` → `SaveRequest`. The failures of all changes are collected and reported
// together; a malformed body and a refused condition are thrown at once.

/// Resolves the names and values of saves.
public struct SaveResolver: Sendable {
  /// The model whose entities and properties the saves name.
  public var model: Model { resolver.model }
  /// Resolves the conditions of changes.
  private let resolver: FetchResolver
  private let rules: ValidationRules
  /// The attributes of each entity that the caller does not see or may not write; empty if there are
  /// none.
  private let protected: [Set<Int>]

  /// Prepares the rules of a model. O(attributes).
  public init(model: Model) {
    self.init(
      resolver: FetchResolver(model: model, maxItems: 1), rules: ValidationRules(model),
      protected: [])
  }

  private init(resolver: FetchResolver, rules: ValidationRules, protected: [Set<Int>]) {
    self.resolver = resolver
    self.rules = rules
    self.protected = protected
  }

  /// Returns the resolver for the saves of one caller.
  public func restricted(to access: CallerAccess) -> SaveResolver {
    SaveResolver(
      resolver: FetchResolver(access: access, maxItems: 1), rules: rules,
      protected: access.protectsAttributes
        ? zip(access.hidden, access.readOnly).map { $0.union($1) } : [])
  }

  /// Resolves the body of `POST /v1/save`. O(length).
  ///
  /// Problems of the changes are in the request's ``SaveRequest/problems``.
  ///
  /// - Throws: ``SaveError/malformed(_:)`` if the body is not a valid save request.
  public func resolve(_ body: JSON) throws(SaveError) -> SaveRequest {
    guard case .object(let members) = body, case .array(let elements)? = body["changes"] else {
      throw .malformed("a save is an object with an array `changes`")
    }
    var policy = MergePolicy.error
    for member in members where member.name != "changes" {
      guard member.name == "mergePolicy" else {
        throw .malformed("a save has no member `\(member.name)`")
      }
      guard let given = member.value.string.flatMap(MergePolicy.init(rawValue:)) else {
        let names = MergePolicy.allCases.map(\.rawValue).joined(separator: ", ")
        throw .malformed("`mergePolicy` is one of \(names)")
      }
      policy = given
    }
    var drafts: [ChangeDraft] = []
    for (index, element) in elements.enumerated() {
      drafts.append(try ChangeDraft(element, index: index))
    }
    var request = try resolve(drafts)
    request.mergePolicy = policy
    return request
  }

  /// Resolves the change of a single-object request; `values` is its body.
  ///
  /// - Parameter id: nil for an insert.
  public func single(
    _ kind: ChangeDraft.Kind, entity: Int, id: ObjectID?, values: JSON?,
    precondition: Precondition = .none
  ) throws(SaveError) -> SaveRequest {
    guard let members = values.map(\.members) ?? [] else {
      throw .malformed("the body is an object of the properties' values")
    }
    let draft = ChangeDraft(
      kind: kind, entity: model.entities[entity].name, target: id.map { .id($0) },
      values: members, precondition: precondition)
    var request = try resolve([draft])
    request.isSingle = true
    return request
  }

  /// Resolves the values of a batch update.
  public func batch(
    entity: Int, values: JSON, where predicate: ResolvedPredicate
  ) throws(SaveError) -> SaveRequest {
    // An id of the other type, which no object of the entity can have.
    let placeholder = model.entities[entity].idType == .integer ? ObjectID.text("") : .integer(0)
    var request = try single(.update, entity: entity, id: placeholder, values: values)
    request.isSingle = false
    if request.changes[0].namesEntity {
      request.problems.append(
        ChangeProblem(
          change: 0, property: Inheritance.key, code: .notWritable,
          detail: "what entity an object is of is permanent"))
    }
    if request.changes[0].operation != .nothing {
      request.changes[0].operation = .updateAll(predicate)
    }
    return request
  }

  private func resolve(_ drafts: [ChangeDraft]) throws(SaveError) -> SaveRequest {
    var resolution = ChangeValidator(
      resolver: resolver, rules: rules, protected: protected, drafts: drafts)
    var request = SaveRequest(
      changes: drafts.indices.map { resolution.resolve(drafts[$0], at: $0) })
    if let error = resolution.refusedCondition { throw .condition(error) }
    request.problems = resolution.problems
    request.setRequiredInverses(model)
    return request
  }
}

extension JSON {
  /// The members of an object; nil for other values.
  var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }
}
