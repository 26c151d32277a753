// Writes a client's snapshot as JSON, with the members of a server's in their order.

extension ResultSnapshot {
  /// The snapshot as JSON.
  package var json: [UInt8] {
    var json: [UInt8] = []
    json.append(json: "{\"entity\":")
    json.append(jsonString: entity)
    json.append(json: ",\"token\":")
    json.append(jsonString: token)
    json.append(json: ",")
    var head = summary
    head.next = nil
    head.appendMembers(to: &json)
    json.append(json: ",\"sections\":")
    json.append(jsonArray: sections) { $0.append(to: &$1) }
    if let included {
      json.append(json: ",")
      json.append(included: included)
    }
    if let next = summary.next {
      json.append(json: ",\"next\":")
      json.append(jsonString: next)
    }
    json.append(json: "}")
    return json
  }
}

extension ResultSnapshot.Section {
  fileprivate func append(to json: inout [UInt8]) {
    json.append(json: "{")
    info.appendMembers(to: &json)
    json.append(json: ",\"items\":")
    json.append(jsonArray: items) { item, json in json.append(contentsOf: item) }
    json.append(json: "}")
  }
}
