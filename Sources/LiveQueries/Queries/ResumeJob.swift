// What a client missed, found out apart from the engine's thread: a query as it was then enters, the
// query as it is at a moment of the store leaves, with a log that tells everything since.
//
// The engine tries every resume itself and gives it up where that takes longer than others can wait.
// What the job finds is good for the engine alone: it brings it up to the moment that it is at
// itself, and goes on with it as with a query of its own.

import FetchModel

/// What tells one resume from another.
struct ResumeKey: Hashable, Sendable {
  let query: QueryKey
  let view: ViewKey
  let from: Token
}

/// What became of a resume.
enum ResumeOutcome: Sendable {
  case ready(PreparedQuery)
  /// The token cannot be continued from, or not within the store's time limit: who begins anew gets
  /// on, who tried again would not.
  case expired
  case failed(StoreError)
}

/// A query that one thread has made for another, which alone has it from then on.
final class PreparedQuery: @unchecked Sendable {
  let query: LiveQuery
  /// The moment that it is true of.
  let token: Token
  /// What the resumed token is worth for the fetch.
  let standing: TokenStanding

  init(_ query: LiveQuery, at token: Token, _ standing: TokenStanding) {
    self.query = query
    self.token = token
    self.standing = standing
  }
}

/// A resume to be found out.
struct ResumeJob: Sendable {
  let key: ResumeKey
  let plan: FetchPlan
  let model: Model
  let columns: (any ColumnTraits)?
  /// How often it was tried before.
  var tries = 0

  /// - Parameter isOver: whether the engine is about to end.
  func run(
    _ store: any LiveStore, unless isOver: @escaping @Sendable () -> Bool
  ) -> ResumeOutcome {
    guard !isOver() else { return .failed(.busy) }
    do throws(StoreError) {
      return try store.read(unless: isOver) { moment in outcome(moment, isOver) }
    } catch {
      return .failed(isOver() ? .busy : error)
    }
  }

  private func outcome(_ moment: any LiveMoment, _ isOver: () -> Bool) -> ResumeOutcome {
    do throws(StoreError) {
      return try prepare(MomentContext(moment))
    } catch {
      return .failed(isOver() ? .busy : moment.meaning(of: error))
    }
  }

  private func prepare(_ context: MomentContext) throws(StoreError) -> ResumeOutcome {
    let (from, newest) = (key.from, context.token)
    guard from.epoch == newest.epoch, from.position <= newest.position else { return .expired }
    let standing = try context.moment.standing(of: from, for: plan)
    guard standing != .expired else { return .expired }
    let query = LiveQuery(
      key: key.query, model: model, columns: columns, position: newest.position)
    let view = try context.moment.within(nil) { () throws(StoreError) in
      try query.view(key.view, context, now: .now)
    }
    do throws(StoreError) {
      try context.moment.within(nil) { () throws(StoreError) in
        try query.resume(view, from: from, standing, context)
      }
    } catch .queryTimeout {
      return .expired
    }
    return .ready(PreparedQuery(query, at: newest, standing))
  }
}

extension LiveQuery {
  /// Takes into the log what happened after `from`, up to where the query stands, and makes the
  /// answer of `view`, which it keeps. Values of a column that came are one view's: the log, which
  /// serves all views, begins where they are told.
  fileprivate func resume(
    _ view: LiveView, from: Token, _ standing: TokenStanding, _ context: MomentContext
  ) throws(StoreError) {
    if standing == .known {
      let found = try rowChanges(after: from.position, context) ?? []
      log = TouchLog(start: from.position)
      log.append(found, from: from.position, to: position)
    }
    _ = try body(for: view, from: from.position, standing, context)
  }
}
