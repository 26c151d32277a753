// A fetch template + the parameters of a request → FetchRequest.

extension ModelFile.FetchTemplate {
  /// The request that the template makes with `query`: values for its variables as `var.NAME`, and
  /// whatever else a fetch takes but a predicate. A `sort` and a `limit` take the place of its own.
  public func request(
    query: [(name: String, value: String)]
  ) throws(FetchRequestError) -> FetchRequest {
    for name in ["where", "arg"] where query.contains(where: { $0.name == name }) {
      throw .badValue(parameter: name, detail: "the template `\(self.name)` has its own predicate")
    }
    var request = try FetchRequest(entity: entity, query: query)
    request.predicate = predicate
    if request.sort.isEmpty { request.sort = sort }
    request.limit = request.limit ?? limit
    request.withSubentities = request.withSubentities && includesSubentities
    return request
  }
}
