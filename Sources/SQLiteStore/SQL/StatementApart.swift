// A piece of SQL that reads columns of rows around it → a statement that is given their values.

import FetchModel

struct StatementApart {
  /// The alias under which the query's own aggregates are given, numbered.
  static let aggregates = "h"

  /// The statement and what is bound to its first parameters; see `StatementProgram`.
  let program: [UInt8]
  /// What is bound to the others, in their order.
  private(set) var values: [SQLReferences.Column] = []

  /// SQLite joins 64 tables at most: the columns of further ones are given together.
  private static let mostTables = 24
  private static let others = "o"

  /// - Parameters:
  ///   - prelude: what the statement needs in front of its SELECT.
  ///   - table: the table behind an alias, quoted.
  init(_ part: SQLFragment, behind prelude: SQLFragment, table: (String) -> String?) {
    let references = SQLReferences(in: part.text)
    var aliases: [String] = []
    for column in references.outer where !aliases.contains(column.alias) {
      aliases.append(column.alias)
    }
    let typed = aliases.prefix(Self.mostTables)
    let rest = Set(aliases.dropFirst(Self.mostTables))
    var sources: [String] = []
    for alias in typed {
      let columns = references.outer.filter { $0.alias == alias }
      values += columns
      sources.append(Self.source(columns, alias, table(alias)))
    }
    let others = references.outer.filter { rest.contains($0.alias) }
    if !others.isEmpty {
      values += others
      let list = others.map { "? AS \(quoted(Self.name(ofOther: $0)))" }.joined(separator: ", ")
      sources.append("(SELECT \(list)) AS \(quoted(Self.others))")
    }
    let text = references.replacing(in: part.text) { column in
      rest.contains(column.alias) ? qualified(Self.name(ofOther: column), Self.others) : nil
    }
    let from = sources.isEmpty ? "" : " FROM " + sources.joined(separator: ", ")
    program = StatementProgram.encoded(
      prelude.text + "SELECT " + text + from, prelude.bindings + part.bindings,
      programs: references.programs.map { $0 + prelude.bindings.count })
  }

  private static func source(
    _ columns: [SQLReferences.Column], _ alias: String, _ table: String?
  ) -> String {
    guard let table else {
      let list = columns.map { "? AS \(quoted($0.name))" }.joined(separator: ", ")
      return "(SELECT \(list)) AS \(quoted(alias))"
    }
    let list = columns.map { "\(quoted($0.name)) AS \(quoted($0.name))" }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return """
      (SELECT \(list) FROM main.\(table) WHERE FALSE UNION ALL SELECT \(marks)) \
      AS \(quoted(alias))
      """
  }

  private static func name(ofOther column: SQLReferences.Column) -> String {
    "\(column.alias).\(column.name)"
  }
}

/// What a piece of composed SQL refers to. Everything that a client sent stands in bindings, so the
/// text is this house's own: quoted names, literals, question marks.
struct SQLReferences {
  struct Column: Hashable {
    let alias: String
    let name: String
  }

  /// The columns of tables that the text does not name itself, each once.
  private(set) var outer: [Column] = []
  /// Which of the text's parameters are programs, from 0.
  private(set) var programs: [Int] = []
  private var places: [(column: Column, range: Range<Int>)] = []

  init(in text: String) {
    var aliases: Set<String> = []
    var scanner = SQLScanner(text)
    var parameters = 0
    while let token = scanner.next() {
      switch token {
      case .column(let column, let range): places.append((column, range))
      case .alias(let alias): aliases.insert(alias)
      case .parameter(let isProgram):
        if isProgram { programs.append(parameters) }
        parameters += 1
      }
    }
    places.removeAll { aliases.contains($0.column.alias) }
    var seen: Set<Column> = []
    outer = places.map(\.column).filter { seen.insert($0).inserted }
  }

  /// `text` with other SQL for the columns that `replacement` gives some for.
  func replacing(in text: String, _ replacement: (Column) -> String?) -> String {
    var result: [UInt8] = []
    let bytes = Array(text.utf8)
    var end = 0
    for place in places {
      guard let sql = replacement(place.column) else { continue }
      result += bytes[end..<place.range.lowerBound]
      result += sql.utf8
      end = place.range.upperBound
    }
    guard end > 0 else { return text }
    return String(decoding: result + bytes[end...], as: UTF8.self)
  }
}

/// Composed SQL → the few kinds of tokens that tell what it refers to.
private struct SQLScanner {
  enum Token {
    /// `"t0"."name"`
    case column(SQLReferences.Column, Range<Int>)
    /// What stands behind AS.
    case alias(String)
    case parameter(isProgram: Bool)
  }

  private let bytes: [UInt8]
  private var place = 0
  private var word = ""

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func next() -> Token? {
    while place < bytes.count {
      let last = word
      switch bytes[place] {
      case 0x27: skipLiteral()
      case 0x22:
        if let token = quotedToken(behind: last) { return token }
      case 0x3F:
        word = ""
        place += 1
        return .parameter(isProgram: last == "livefetch_apart(")
      case 0x28:
        word += "("
        place += 1
      case 0x20: place += 1
      default:
        guard let token = wordToken(behind: last) else { continue }
        return token
      }
    }
    return nil
  }

  private mutating func skipLiteral() {
    word = ""
    place += 1
    while place < bytes.count, bytes[place] != 0x27 { place += 1 }
    place += 1
  }

  private mutating func quotedToken(behind last: String) -> Token? {
    word = ""
    let start = place
    let name = identifier()
    guard place + 1 < bytes.count, bytes[place] == 0x2E, bytes[place + 1] == 0x22 else {
      return last == "AS" ? .alias(name) : nil
    }
    place += 1
    let column = SQLReferences.Column(alias: name, name: identifier())
    return .column(column, start..<place)
  }

  /// A name in quotes, those within it single.
  private mutating func identifier() -> String {
    var name: [UInt8] = []
    place += 1
    while place < bytes.count {
      defer { place += 1 }
      if bytes[place] == 0x22 {
        guard place + 1 < bytes.count, bytes[place + 1] == 0x22 else { break }
        place += 1
      }
      name.append(bytes[place])
    }
    return String(decoding: name, as: UTF8.self)
  }

  private mutating func wordToken(behind last: String) -> Token? {
    let start = place
    while place < bytes.count, Self.isWord(bytes[place]) { place += 1 }
    guard place > start else {
      word = ""
      place += 1
      return nil
    }
    word = String(decoding: bytes[start..<place], as: UTF8.self)
    return last == "AS" ? .alias(word) : nil
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
    default: byte >= 0x80
    }
  }
}
