// The names in a file's header → valid column names of a table, or the reason why they are invalid.

import FetchModel

/// The properties of the file's columns, after `--map`.
struct Heading {
  let names: [String]

  /// The problem with the names, for the user; nil if they are valid.
  var problem: String? {
    if names.count > NewTable.mostColumns {
      return "\(names.count.withThousandsSeparators) columns, where a table has at most "
        + "\(NewTable.mostColumns.withThousandsSeparators): leave some out with --map NAME="
    }
    if let place = names.firstIndex(of: "") {
      return "column \(place + 1) has no name: --map =NAME gives it one, --map = leaves it out"
    }
    return repetition
  }

  /// SQLite treats names that differ only in case as equal.
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
