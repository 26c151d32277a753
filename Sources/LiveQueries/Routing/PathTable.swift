// Numbers the key paths that live queries of one entity use for lookups and tests. A number is
// stable while the path is in use.

import FetchModel

/// Key paths with numbers and use counts.
struct PathTable {
  /// The maximum number of paths that are read of every changed object.
  private static let maxPaths = 32

  private(set) var paths: [PropertyPath?] = []
  private var uses: [Int] = []
  private var numbers: [PropertyPath: Int] = [:]

  /// The paths in use, with their numbers.
  var used: [(number: Int, path: PropertyPath)] {
    paths.enumerated().compactMap { number, path in path.map { (number, $0) } }
  }

  /// True if all of `wanted` are in the table or there is room for them.
  func hasRoom(for wanted: [PropertyPath]) -> Bool {
    let new = wanted.filter { numbers[$0] == nil }
    return new.isEmpty || numbers.count + new.count <= Self.maxPaths
  }

  /// Increments the use count of `path` and returns its number.
  mutating func use(_ path: PropertyPath) -> Int {
    if let number = numbers[path] {
      uses[number] += 1
      return number
    }
    let number = paths.firstIndex(of: nil) ?? paths.count
    if number == paths.count {
      paths.append(path)
      uses.append(1)
    } else {
      paths[number] = path
      uses[number] = 1
    }
    numbers[path] = number
    return number
  }

  mutating func drop(_ path: PropertyPath) {
    guard let number = numbers[path] else { return }
    uses[number] -= 1
    guard uses[number] == 0 else { return }
    paths[number] = nil
    numbers[path] = nil
  }

  func number(of path: PropertyPath) -> Int? { numbers[path] }
}
