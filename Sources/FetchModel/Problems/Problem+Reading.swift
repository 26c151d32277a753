// A problem's JSON, as a client gets it.

extension Problem {
  /// Reads the body of a refusal; nil if it has not the form of one.
  package init?(json: JSON, status: Int) {
    guard case .object(let all) = json, let code = json["code"]?.string,
      let detail = json["detail"]?.string
    else { return nil }
    self.init(
      status, code, json["title"]?.string ?? "", detail,
      offset: json["offset"]?.integer.flatMap { Int(exactly: $0) }, hint: json["hint"]?.string)
    let own: Set = ["type", "title", "status", "detail", "code", "offset", "hint"]
    members = all.filter { !own.contains($0.name) }
  }
}
