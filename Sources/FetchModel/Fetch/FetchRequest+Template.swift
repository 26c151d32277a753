// A fetch template + the parameters of a request → FetchRequest; and the templates of a model that no
// request can run.

extension ModelFile.FetchTemplate {
  /// The request that the template makes with `query`: values for its variables as `var.NAME`, and
  /// whatever else a fetch takes but a predicate. What the template has too takes the place of its own.
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
    request.subentities = request.subentities ?? includesSubentities
    return request
  }
}

extension FetchResolver {
  /// The model's fetch templates that fail whatever values a request gives, each with the reason.
  public var templateProblems: [ModelFileProblem] {
    (model.file?.fetchTemplates ?? []).compactMap { template in
      problem(of: template).map { ModelFileProblem("fetchTemplates/\(template.name)", $0) }
    }
  }

  private func problem(of template: ModelFile.FetchTemplate) -> String? {
    do throws(FetchRequestError) {
      var request = try template.request(query: [])
      for name in Self.variables(of: template) { request.variables[name] = .json(.null) }
      _ = try resolve(request)
      return nil
    } catch {
      guard case .predicate(_, let refusal) = error else {
        return Problem(error, isPath: false).detail
      }
      // The types that fit are not known before the variables have values.
      let isUncertain = refusal.code == .typeMismatch && !Self.variables(of: template).isEmpty
      return isUncertain ? nil : refusal.description
    }
  }

  /// The names of the variables that a request gives values for.
  private static func variables(of template: ModelFile.FetchTemplate) -> Set<String> {
    template.predicate.flatMap { try? Predicate(parsing: $0) }?.variables ?? []
  }
}
