// Weak references of a background task to an object and to the actor that it belongs to, so that
// the task keeps neither in memory while it waits.

/// Refers to an object of an actor, and retains neither.
struct IsolatedReference<Object: AnyObject>: @unchecked Sendable {
  private weak var actor: (any Actor)?
  // Read on the actor only.
  private weak var object: Object?

  /// - Parameter isolation: the actor to which `object` belongs.
  init(_ object: Object, on isolation: any Actor) {
    (self.object, actor) = (object, isolation)
  }

  /// True if this refers to `other`. To be called on the actor.
  func refers(to other: Object) -> Bool { object === other }

  /// Runs `body` on the actor.
  ///
  /// - Returns: nil if the actor or the object is deallocated.
  func run<Result: Sendable>(
    _ body: @Sendable (Object, isolated any Actor) async -> Result
  ) async -> Result? {
    guard let actor else { return nil }
    return await run(on: actor, body)
  }

  private func run<Result: Sendable>(
    on actor: isolated any Actor, _ body: @Sendable (Object, isolated any Actor) async -> Result
  ) async -> Result? {
    guard let object else { return nil }
    return await body(object, actor)
  }
}
