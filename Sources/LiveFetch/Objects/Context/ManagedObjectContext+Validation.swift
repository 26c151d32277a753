// Validation by the classes before a save, and the store's refusals after it, as the same failures.

extension ManagedObjectContext {
  /// The rules of their classes that changed objects violate.
  func validationFailures() -> [ValidationFailure] {
    insertions.flatMap { failures(of: $0) { try $0.validateForInsert() } }
      + updates.flatMap { failures(of: $0) { try $0.validateForUpdate() } }
      + deletions.flatMap { object in
        Self.failures(named: object, nil) { try object.validateForDelete() }
      }
  }

  private func failures(
    of object: ManagedObject, _ whole: (ManagedObject) throws -> Void
  ) -> [ValidationFailure] {
    var failures = object.unstorable.sorted { $0.key < $1.key }.map { name, error in
      var failure = ValidationFailure(property: name, code: "invalid-value", reason: error.reason)
      failure.objectID = object.objectID
      failure.entity = object.entityName
      return failure
    }
    if object.isInserted, let problem = classProblem(layout(of: object)) {
      failures += Self.failures(named: object, nil) {
        throw ValidationFailure(code: "other-class", problem)
      }
    }
    failures += (object as? any ManagedObjectType)?.keyFailures ?? []
    return failures + Self.failures(named: object, nil) { try whole(object) }
  }

  /// The errors that `rule` throws, as failures of `object`.
  fileprivate static func failures(
    named object: ManagedObject, _ property: String?, _ rule: () throws -> Void
  ) -> [ValidationFailure] {
    var failures: [ValidationFailure] = []
    do {
      try rule()
    } catch let error as ValidationFailures {
      failures = error.failures
    } catch let error as ValidationFailure {
      failures = [error]
    } catch {
      failures = [
        ValidationFailure(property: property, code: "invalid-value", reason: "\(error)")
      ]
    }
    for index in failures.indices {
      failures[index].entity = object.entityName
      failures[index].objectID = object.objectID
    }
    return failures
  }
}

extension ManagedObjectType {
  /// The failures of single properties: of changed ones, and of all properties of a new object.
  fileprivate var keyFailures: [ValidationFailure] {
    Key.allCases.filter { isInserted || hasEdit(of: $0.rawValue) }.flatMap { key in
      ManagedObjectContext.failures(named: self, key.rawValue) { try validateValue(for: key) }
    }
  }
}

extension ContextError {
  /// Converts the store's refusal of a save into failures and conflicts by object.
  init(_ error: ObjectStoreError, _ draft: ContextSave) {
    guard let errors = error.refusedChanges else {
      self = .store(error)
      return
    }
    var refusal = SaveRefusal()
    for error in errors { refusal.add(error, of: draft) }
    self = refusal.isEmpty ? .store(error) : .refused(refusal)
  }
}

extension SaveRefusal {
  fileprivate mutating func add(_ error: JSON, of draft: ContextSave) {
    guard let code = error["code"]?.string, let index = error["change"]?.integer,
      draft.origins.indices.contains(Int(clamping: index))
    else { return }
    let origin = draft.origins[Int(clamping: index)]
    let property = error["property"]?.string
    // With a property, the missing object is the relationship's destination.
    let isMissing = code == "no-such-object" && property == nil
    if code == "changed" || isMissing {
      conflicts.append(
        MergeConflict(
          entity: origin.entity, objectID: origin.objectID, property: property,
          stored: error["stored"], given: error["given"], base: property.flatMap(origin.base),
          isDeletion: isMissing))
    } else {
      // The context made the id itself: the program knows the object, not the name.
      let detail =
        code == "unknown-temporary-id"
        ? "refers to a new object that this save does not contain: insert it in this context, or save it first"
        : error["detail"]?.string
      var failure = ValidationFailure(
        property: property, code: code, reason: detail ?? code, hint: error["hint"]?.string)
      failure.entity = origin.entity
      failure.objectID = origin.objectID
      failures.append(failure)
    }
  }
}

extension ContextSave.Origin {
  var entity: String {
    switch self {
    case .insertion(let sent), .update(let sent): sent.object.entityName
    case .deletion(let object): object.entityName
    case .value(let change): change.entity
    }
  }

  var objectID: ManagedObjectID {
    switch self {
    case .insertion(let sent), .update(let sent): sent.object.objectID
    case .deletion(let object): object.objectID
    case .value(let change): change.objectID
    }
  }

  fileprivate func base(of property: String) -> JSON? {
    switch self {
    case .insertion, .deletion: nil
    case .update(let sent): sent.bases[property]
    case .value(let change): change.base?.first { $0.name == property }?.value
    }
  }
}
