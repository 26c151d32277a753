// A generated store as a model: the model file, the access file, and the saves that fill it.

import FetchModel
import Foundation

extension GeneratedStore {
  /// The rules of a model's or an access file's entities and attributes as members of JSON objects.
  struct Rules {
    /// The member `access` of an entity; nil for none.
    var access: [Int: String] = [:]
    /// The members of an attribute after its type.
    var attributes: [String: String] = [:]
    /// The value of `access` of the whole; nil for none.
    var whole: String?

    func without(_ hidden: Set<String>) -> Rules {
      var rules = self
      for name in hidden { rules.attributes[name] = nil }
      return rules
    }
  }

  /// The text of a file of access rules.
  func accessFile(_ rules: Rules) -> String {
    let entities = self.entities.indices.map { index in
      var members = rules.access[index].map { ["\"access\":\($0)"] } ?? []
      let attributes = self.entities[index].attributes.compactMap { attribute in
        rules.attributes[attribute.name].map { "\"\(attribute.name)\":{\($0)}" }
      }
      members.append("\"attributes\":{\(attributes.joined(separator: ","))}")
      return "\"\(self.entities[index].name)\":{\(members.joined(separator: ","))}"
    }
    let whole = rules.whole.map { ",\"access\":\($0)" } ?? ""
    return "{\"entities\":{\(entities.joined(separator: ","))}\(whole)}"
  }

  /// The text of the model file.
  ///
  /// - Parameter hidden: The attributes that the file does not have.
  func model(_ rules: Rules = Rules(), without hidden: Set<String> = []) -> String {
    let entities = self.entities.indices.map { index in
      let entity = self.entities[index]
      let attributes = entity.attributes.filter { !hidden.contains($0.name) }.map {
        let rule = rules.attributes[$0.name].map { ",\($0)" } ?? ""
        return #"{"name":"\#($0.name)","type":"\#($0.type.declared)","optional":\#($0.isOptional)"#
          + rule + "}"
      }
      var members = [#""name":"\#(entity.name)""#]
      if let parent = entity.parent {
        members.append(#""parent":"\#(self.entities[parent].name)""#)
      }
      if let access = rules.access[index] { members.append(#""access":\#(access)"#) }
      let sort = entity.sort.filter { !hidden.contains($0.replacing("-", with: "")) }
      if !sort.isEmpty { members.append(#""sort":["\#(sort.joined(separator: "\",\""))"]"#) }
      members.append(#""attributes":[\#(attributes.joined(separator: ","))]"#)
      members.append(#""relationships":[\#(relationships(of: index).joined(separator: ","))]"#)
      return "{\(members.joined(separator: ","))}"
    }
    let templates = self.templates.filter { !hidden.contains($0.attribute.name) }.map {
      #"{"name":"\#($0.name)","entity":"\#(self.entities[$0.entity].name)","#
        + #""predicate":"\#($0.predicate)","sort":["\#($0.attribute.name)"]}"#
    }
    let whole = rules.whole.map { #","access":\#($0)"# } ?? ""
    return #"{"entities":[\#(entities.joined(separator: ","))],"#
      + #""fetchTemplates":[\#(templates.joined(separator: ","))]\#(whole)}"#
  }

  private func relationships(of index: Int) -> [String] {
    func text(
      _ name: String, _ destination: Int, _ inverse: String, toMany: Bool = false, _ more: String
    ) -> String {
      #"{"name":"\#(name)","destination":"\#(entities[destination].name)","inverse":"\#(inverse)","#
        + #""toMany":\#(toMany)\#(more)}"#
    }
    var list = entities[index].references.map {
      text($0.name, $0.target, "\($0.name)_of", #","optional":\#($0.isOptional)"#)
    }
    for (source, entity) in entities.enumerated() {
      for link in entity.references where link.target == index {
        let ordered = link.isOneToOne ? "" : #","ordered":\#(link.isOrdered)"#
        let more = #"\#(ordered),"deleteRule":"\#(link.deleteRule)""#
        list.append(
          text("\(link.name)_of", source, link.name, toMany: !link.isOneToOne, more))
      }
    }
    for link in links {
      if link.owner == index {
        let more = #","ordered":\#(link.isOrdered)"#
        list.append(text(link.name, link.other, "\(link.name)_of", toMany: true, more))
      }
      if link.other == index {
        list.append(text("\(link.name)_of", link.owner, link.name, toMany: true, ""))
      }
    }
    return list
  }

  /// The numbers of the first objects of an entity without its subentities, which share a table.
  func numbers(of entity: Int) -> ClosedRange<Int> {
    let before = entities[..<entity].indices.filter { root(of: $0) == root(of: entity) }
    let start = before.map { entities[$0].count }.reduce(0, +)
    return (start + 1)...(start + entities[entity].count)
  }

  /// The numbers of the first objects of an entity and its subentities.
  func allNumbers(of entity: Int) -> [Int] { kinds(of: entity).flatMap { Array(numbers(of: $0)) } }

  /// The saves that fill the store of a model.
  mutating func firstSaves() -> [String] {
    var inserts: [String] = []
    var updates: [String] = []
    for (index, entity) in entities.enumerated() {
      let attributes = entity.parent.map { entities[$0].attributes } ?? []
      let inherited = entity.parent.map { entities[$0].references } ?? []
      for object in numbers(of: index) {
        var values = ["\"id\":\(object)"]
        for attribute in attributes + entity.attributes where !attribute.isOptional || !oneIn(4) {
          values.append("\"\(attribute.name)\":\(attribute.type.json(number(0...9)))")
        }
        for link in inherited + entity.references where !link.isOptional || !oneIn(5) {
          let value = "\"\(link.name)\":\(pick(allNumbers(of: link.target)))"
          // Targets of required references may be of an entity after this one.
          if link.isOptional {
            updates.append(update(entity, object, value))
          } else {
            let target = pick(Array(numbers(of: link.target)))
            values.append("\"\(link.name)\":\(target)")
          }
        }
        inserts.append(
          #"{"insert":"\#(entity.name)","values":{\#(values.joined(separator: ","))}}"#)
      }
    }
    for link in links {
      for first in allNumbers(of: link.owner) {
        var members: [Int] = []
        for second in allNumbers(of: link.other) where oneIn(3) { members.append(second) }
        let list = "[\(members.map(String.init).joined(separator: ","))]"
        updates.append(update(entities[link.owner], first, "\"\(link.name)\":\(list)"))
      }
    }
    return [inserts, updates].map { #"{"changes":[\#($0.joined(separator: ","))]}"# }
  }

  private func update(_ entity: Entity, _ object: Int, _ value: String) -> String {
    #"{"update":"\#(entity.name)","id":\#(object),"values":{\#(value)}}"#
  }
}
