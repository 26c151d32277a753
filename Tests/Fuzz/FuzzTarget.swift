// The entry point of libFuzzer: any bytes → every reader of FetchModel and RequestPlans. Built by
// `make fuzz`. The first byte chooses the reader, or the number in LIVEFETCH_FUZZ_READER. Nothing may trap; where
// something reads back what it wrote, it has to be the same.

import Bytes
import LiveFetchCLibrary
import Patterns

@testable import FetchModel

#if SWIFT_PACKAGE
  import Testing
#endif

private let chosenReader = getenv("LIVEFETCH_FUZZ_READER").flatMap { UInt8(String(cString: $0)) }

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let first = bytes.first else { return 0 }
  let rest = Array(bytes.dropFirst())
  let text = String(decoding: rest, as: UTF8.self)
  switch chosenReader ?? first & 31 {
  case 0...5: fuzzPredicate(text)
  case 6: fuzzArguments(text)
  case 7: fuzzJSON(rest)
  case 8: fuzzSave(rest)
  case 9: fuzzRequest(text)
  case 10: fuzzCursor(text)
  case 11: fuzzPattern(text)
  case 12: fuzzLike(text)
  case 13: fuzzFolding(rest)
  case 14: fuzzDates(text)
  case 16...19: fuzzRules(rest)
  default: fuzzSmallReaders(text)
  }
  return 0
}

private let model = Model(entities: [
  Entity(
    name: "City",
    attributes: [
      Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
      Attribute(name: "rating", type: .double), Attribute(name: "capital", type: .boolean),
      Attribute(name: "founded", type: .date, dateFormat: .iso8601),
      Attribute(name: "flag", type: .binary), Attribute(name: "key", type: .uuid),
      Attribute(name: "price", type: .decimal), Attribute(name: "notes", type: .json),
    ],
    relationships: [
      Relationship(name: "country", destination: 1, isToMany: false, inverse: 0),
      Relationship(name: "tags", destination: 2, isToMany: true, inverse: 0),
    ], idType: .integer, aliases: ["country_id": .relationship(0)]),
  Entity(
    name: "Country", attributes: [Attribute(name: "name", type: .string)],
    relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 0)],
    idType: .string),
  Entity(
    name: "Tag", attributes: [Attribute(name: "label", type: .string)],
    relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 1)],
    idType: .integer),
])

/// Ends the process, so that the fuzzer reports it; in the tests of the package it is a failure.
func demand(_ condition: Bool, _ what: @autoclosure () -> String) {
  guard !condition else { return }
  #if SWIFT_PACKAGE
    Issue.record(Comment(rawValue: what()))
  #else
    fatalError(what())
  #endif
}

// MARK: - Predicates

private func fuzzPredicate(_ text: String) {
  do throws(PredicateError) {
    let predicate = try Predicate(parsing: text)
    roundTrip(predicate)
    resolve(predicate)
  } catch {
    demand(error.offset <= text.utf8.count, "an offset past the end")
    _ = error.description
  }
}

private func roundTrip(_ predicate: Predicate) {
  let canonical = predicate.description
  do throws(PredicateError) {
    let again = try Predicate(parsing: canonical)
    demand(again == predicate, "\(canonical) is another tree")
    demand(again.description == canonical, "\(canonical) is not canonical")
  } catch {
    let isLimit = error.code == .tooLong || error.code == .tooComplex
    demand(isLimit, "\(canonical): \(error)")
  }
}

private func resolve(_ predicate: Predicate) {
  let variables: [String: PredicateArgument] = ["x": .text("5"), "y": .json(.array([.null]))]
  let arguments: [PredicateArgument] = [.text("name"), .json(.number("5")), .json(.array([]))]
  for entity in model.entities.indices {
    do throws(PredicateError) {
      let now = Instant(seconds: 0)
      let resolved = try predicate.resolved(
        in: model, entity: entity, arguments: arguments, variables: variables, now: now)
      demand(resolved.condition.negated.negated == resolved.condition, "NOT NOT is another")
      fuzzEvaluator(resolved.condition, model)
    } catch {
      _ = error.description
    }
    _ = try? predicate.resolved(in: model, entity: entity, now: Instant(seconds: 1))
  }
}

/// Text, a line break, and JSON for its placeholders.
private func fuzzArguments(_ text: String) {
  let parts = text.split(separator: "\n", maxSplits: 1)
  guard parts.count == 2, let json = try? JSON(parsing: Array(parts[1].utf8)) else { return }
  var arguments: [PredicateArgument] = []
  if case .array(let elements) = json { arguments = elements.compactMap(PredicateArgument.init) }
  for given in [arguments, [.text(String(parts[1]))]] {
    _ = try? ResolvedPredicate(
      parsing: String(parts[0]), arguments: given, entity: 0, model: model,
      now: Instant(seconds: 0))
  }
}

// MARK: - JSON, saves, requests, cursors

private func fuzzJSON(_ bytes: [UInt8]) {
  guard let json = try? JSON(parsing: bytes) else { return }
  let written = utf8(of: json)
  guard let again = try? JSON(parsing: written) else { fatalError("not JSON any more") }
  demand(again == json && utf8(of: again) == written, "another value")
  _ = ResultSnapshot(json: json)
  _ = try? FetchRequest(json: json)
}

private func utf8(of json: JSON) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.append(json: json)
  return bytes
}

private func fuzzSave(_ bytes: [UInt8]) {
  guard let json = try? JSON(parsing: bytes) else { return }
  let resolver = SaveResolver(model: model)
  _ = try? resolver.resolve(json)
  _ = try? resolver.single(.update, entity: 0, id: .integer(1), values: json)
  _ = try? resolver.single(.insert, entity: 1, id: nil, values: json)
}

private func fuzzRequest(_ text: String) {
  guard let items = try? PercentEncoding.decodeQuery(Substring(text)) else { return }
  guard let request = try? FetchRequest(entity: "City", query: items) else { return }
  let resolver = FetchResolver(model: model, maxItems: 100)
  _ = try? resolver.resolve(request)
  fuzzForms(text, resolver)
}

/// A query string, a line break, and a cursor; it is tried as it is and made to fit the order.
private func fuzzCursor(_ text: String) {
  let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
  guard let items = try? PercentEncoding.decodeQuery(parts[0]),
    let request = try? FetchRequest(entity: "City", query: items),
    let plan = try? FetchResolver(model: model, maxItems: 100).resolve(request)
  else { return }
  let cursor = CursorCoder(of: plan.definition, in: model)
  let given = parts.count > 1 ? String(parts[1]) : text
  if let key = cursor.decode(given) { demand(cursor.decode(cursor.encode(key)) == key, "cursor") }
  let bytes = Array(given.utf8)
  let made = OrderKey(bytes: bytes, sectionLength: 0, idOffset: UInt32(bytes.count / 2))
  if let key = cursor.decode(cursor.encode(made)) {
    demand(key.bytes == bytes, "a key of other bytes")
    _ = SectionInfo(section: key.section, term: plan.definition.section, model: model)
  }
}

/// The text of a rule file, or a predicate as every rule of an entity.
private func fuzzRules(_ bytes: [UInt8]) {
  let declared =
    (try? AccessDeclaration(parsing: bytes)) ?? rules(String(decoding: bytes, as: UTF8.self))
  guard let rules = try? AccessRules(declared, model: model) else { return }
  let claims = JSON.object([.init(name: "team", value: .number("7"))])
  for caller in [
    AccessCaller(), AccessCaller(id: "5", name: "é", roles: ["hr"], claims: claims),
    AccessCaller(id: "x'\"\\", roles: ["", "NOT"]),
  ] {
    let access = rules.access(of: caller)
    demand(access == rules.access(of: caller), "a caller's rules differ from themselves")
    for action in AccessAction.allCases {
      for entity in model.entities.indices {
        fuzzEvaluator(access.rule(action, entity).condition, model)
      }
    }
    for query in ["sort=name", "where=country.name%20==%20'a'&section=country.name"] {
      guard let items = try? PercentEncoding.decodeQuery(Substring(query)),
        let request = try? FetchRequest(entity: "City", query: items),
        let plan = try? FetchResolver(model: access.model, maxItems: 100).resolve(request)
      else { continue }
      let restricted = plan.restricted(by: access)
      demand(restricted.unrestricted == plan.unrestricted, "a rule changes the fetch itself")
    }
  }
}

private func rules(_ predicate: String) -> AccessDeclaration {
  var entity = AccessDeclaration.Entity()
  for action in AccessAction.allCases { entity.rules[action] = .predicate(predicate) }
  entity.hidden["name"] = .predicate(predicate)
  var declared = AccessDeclaration()
  declared.entities["City"] = entity
  return declared
}

// MARK: - Text

private func fuzzPattern(_ text: String) {
  let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
  let searched = Array((parts.count > 1 ? parts[1] : parts[0]).utf8)
  for options in [StringOptions(), .caseInsensitive] {
    guard
      let expression = try? RegularExpression(
        String(parts[0]), ignoresCase: options.contains(.caseInsensitive))
    else { continue }
    searched.withUnsafeBufferPointer { _ = expression.matches($0) }
  }
}

private func fuzzLike(_ text: String) {
  let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
  let searched = Array((parts.count > 1 ? parts[1] : parts[0]).utf8)
  searched.withUnsafeBufferPointer { buffer in
    _ = LikePattern(String(parts[0])).matches(buffer)
    demand(LikePattern("*").matches(buffer), "`*` is anything")
    _ = ByteSearch(Array(parts[0].utf8)).isFound(in: buffer)
  }
}

private func fuzzFolding(_ bytes: [UInt8]) {
  for raw in 0..<UInt8(4) {
    let options = StringOptions(rawValue: raw)
    let folded = bytes.withUnsafeBufferPointer { Folding.fold($0, options) }
    // Invalid UTF-8 is copied, so folding is idempotent only for valid text.
    guard String(validating: bytes, as: UTF8.self) != nil else { continue }
    demand(folded.withUnsafeBufferPointer { Folding.fold($0, options) } == folded, "folds twice")
  }
}

private func fuzzDates(_ text: String) {
  if let instant = Instant(iso8601: text) {
    demand(Instant(iso8601: instant.iso8601) == instant, "\(instant.iso8601) is another time")
    _ = instant.calendarFields
  }
  if let double = Double(text) { _ = Instant(secondsSince1970: double) }
}

private func fuzzSmallReaders(_ text: String) {
  if let token = Token(text) { demand(Token(token.description) == token, "another token") }
  for alphabet in [Base64Alphabet.standard, .urlSafe] {
    guard let bytes = [UInt8](base64: text, alphabet) else { continue }
    var written: [UInt8] = []
    written.append(base64: bytes, alphabet)
    demand([UInt8](base64: String(decoding: written, as: UTF8.self), alphabet) == bytes, "base64")
  }
  _ = try? model.path(text, from: 0)
  _ = nearestName(to: text, among: ["population", "name", "country"])
  let parser = OrderTermParser(model: model, entity: 0, parameter: "sort")
  _ = try? parser.parse(text)
}
