// Checks the names in the header of an imported file, which become the columns of a new table.

import FetchModel
import SQLComposer

/// The header of an imported file.
struct ImportHeader {
  /// The names of the properties, in the order of the file's columns, after `--map`.
  let names: [String]
  /// The file's columns that have them; nil if all are imported.
  let places: [Int]?
  /// True if names that differ only in case are two columns: in PostgreSQL, but not in SQLite.
  let distinguishesCase: Bool

  /// The problem with the names, for the user; nil if they are valid.
  var problem: String? {
    if names.count > NewTable.maxColumns {
      return "\(names.count.withThousandsSeparators) columns, where a table has at most "
        + "\(NewTable.maxColumns.withThousandsSeparators): leave some out with --map NAME="
    }
    if let index = names.firstIndex(of: "") {
      return "column \(number(index)) has no name: --map =NAME gives it one, --map = leaves it out"
    }
    return duplicateProblem
  }

  /// The number of a column in the file, from 1.
  private func number(_ index: Int) -> Int { (places?[index] ?? index) + 1 }

  /// The problem that a name occurs twice.
  private var duplicateProblem: String? {
    var indexes: [[UInt8]: Int] = [:]
    for (index, name) in names.enumerated() {
      guard let first = indexes.updateValue(index, forKey: key(name)) else { continue }
      let both =
        names[first] == name
        ? "'\(name)'" : "'\(names[first])' and '\(name)', which differ only in case"
      return
        "columns \(number(first)) and \(number(index)) are both \(both): name one differently in the file"
    }
    return nil
  }

  /// The bytes that are equal for names of one column.
  private func key(_ name: String) -> [UInt8] {
    Array((distinguishesCase ? name : folded(name)).utf8)
  }
}
