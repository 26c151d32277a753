// Checks the names in the header of an imported file, which become the columns of a new table.

import FetchModel

/// The header of an imported file.
struct ImportHeader {
  /// The names of the properties, in the order of the file's columns, after `--map`.
  let names: [String]

  /// The problem with the names, for the user; nil if they are valid.
  var problem: String? {
    if names.count > NewTable.maxColumns {
      return "\(names.count.withThousandsSeparators) columns, where a table has at most "
        + "\(NewTable.maxColumns.withThousandsSeparators): leave some out with --map NAME="
    }
    if let index = names.firstIndex(of: "") {
      return "column \(index + 1) has no name: --map =NAME gives it one, --map = leaves it out"
    }
    return duplicateProblem
  }

  /// The problem that a name occurs twice. SQLite treats names that differ only in case as equal.
  private var duplicateProblem: String? {
    var indexes: [String: Int] = [:]
    for (index, name) in names.enumerated() {
      guard let first = indexes.updateValue(index, forKey: name.lowercased()) else { continue }
      let both =
        names[first] == name
        ? "'\(name)'" : "'\(names[first])' and '\(name)', which differ only in case"
      return
        "columns \(first + 1) and \(index + 1) are both \(both): name one differently in the file"
    }
    return nil
  }
}
