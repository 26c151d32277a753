// The names of a file's columns → whether they can be those of a table's.

import SQLiteStore

/// The properties that the columns of a file are, after what `--map` says.
struct Heading {
  let names: [String]

  /// What is wrong with them, for a person; nil where nothing is.
  var problem: String? {
    if names.count > NewTable.mostColumns {
      return "\(names.count.grouped) columns, where a table has at most "
        + "\(NewTable.mostColumns.grouped): leave some out with --map NAME="
    }
    if let place = names.firstIndex(of: "") {
      return "column \(place + 1) has no name: --map =NAME gives it one, --map = leaves it out"
    }
    return repetition
  }

  /// SQLite takes names that differ in case alone for the same.
  private var repetition: String? {
    var places: [String: Int] = [:]
    for (index, name) in names.enumerated() {
      guard let first = places.updateValue(index, forKey: name.lowercased()) else { continue }
      let both =
        names[first] == name ? "'\(name)'" : "'\(names[first])' and '\(name)', the same here"
      return
        "columns \(first + 1) and \(index + 1) are both \(both): name one differently in the file"
    }
    return nil
  }
}
