// The arguments of `fetch` and `export`, which have the names of the API's parameters.

import ArgumentParser
import FetchModel

/// The selection, the order and the values of objects.
struct FetchArguments: ParsableArguments {
  @Argument(help: "The entity.")
  var entity: String

  @Option(
    name: [.customShort("w"), .customLong("where")],
    help: ArgumentHelp("A predicate in NSPredicate's format language.", valueName: "predicate"))
  var predicate: String?

  @Option(
    name: .customLong("arg"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A value for '%@' in the predicate (repeatable).", valueName: "value"))
  var arguments: [String] = []

  @Option(
    name: .customLong("var"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A value for '$NAME' in the predicate (repeatable).", valueName: "name=value"))
  var variables: [String] = []

  @Option(
    name: .shortAndLong, parsing: .unconditional,
    help: ArgumentHelp(
      "Key paths, '-' in front for descending: -population,name:cd.", valueName: "keys"))
  var sort: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The maximum number of objects.", valueName: "n"), transform: Self.count)
  var limit: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The number of objects to skip.", valueName: "n"), transform: Self.count)
  var offset: Int?

  @Option(help: ArgumentHelp("The values to show: name,country.name.", valueName: "keys"))
  var select: String?

  /// Reads a number of objects, as the API does.
  private static func count(_ text: String) throws -> Int {
    guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let count = Int32(text) else {
      throw ValidationError("It takes a whole number from 0 to \(Int32.max).")
    }
    return Int(count)
  }

  func validate() throws {
    guard variables.allSatisfy({ $0.contains("=") }) else {
      throw ValidationError("--var takes NAME=VALUE.")
    }
  }

  /// The parameters of the query string.
  var query: [(name: String, value: String)] {
    var query: [(name: String, value: String)] = []
    let single = [
      ("where", predicate), ("sort", sort), ("limit", limit.map(String.init)),
      ("offset", offset.map(String.init)), ("select", select),
    ]
    for (name, value) in single {
      if let value { query.append((name, value)) }
    }
    query += arguments.map { ("arg", $0) }
    query += variables.map { variable in
      let parts = variable.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return ("var.\(parts[0])", String(parts[1]))
    }
    return query
  }
}
