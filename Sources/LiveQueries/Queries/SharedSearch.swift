// Many fetches followed from one position → what each of them has to ask of the objects touched
// since: the touched objects are looked at once for all.

import FetchModel

/// The touched objects that a fetch has to ask of.
enum AffectedScope {
  /// Its result is as it was.
  case nothing
  case objects(Set<ObjectID>)
  case everything
}

/// What many fetches have to ask of what was touched after one position.
struct SharedSearch {
  /// The fetches that were looked for, as queries of their own.
  private let queries: [QueryKey: LiveQuery]
  private let search: CandidateSearch
  /// Whether the store failed, for want of time perhaps.
  var hasFailed: Bool { search.hasFailed }

  init(
    for keys: Set<QueryKey>, after position: Int64, _ context: CatchUpContext, model: Model,
    columns: (any ColumnTraits)?
  ) throws(StoreError) {
    var index = QueryIndex()
    var queries: [QueryKey: LiveQuery] = [:]
    for key in keys {
      let query = LiveQuery(key: key, model: model, columns: columns, position: position)
      index.insert(query)
      queries[key] = query
    }
    self.queries = queries
    var search = CandidateSearch(
      index, try context.touched(after: position, in: model), after: position, context.moment)
    search.run()
    self.search = search
  }

  /// nil where it was not looked for.
  func concern(of key: QueryKey) -> AffectedScope? {
    guard let query = queries[key] else { return nil }
    guard search.found.contains(query) else { return .nothing }
    return search.objects(for: query).map { .objects($0) } ?? .everything
  }
}
