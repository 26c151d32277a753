// The key paths whose values live queries of one entity are looked up and tested by, each with a
// number that stays as long as somebody uses it.

import FetchModel

/// Numbered key paths, counted by use.
struct PathTable {
  /// More than this many are not read of every touched object.
  private static let maxPaths = 32

  private(set) var paths: [PropertyPath?] = []
  private var uses: [Int] = []
  private var numbers: [PropertyPath: Int] = [:]

  /// The paths in use, with their numbers.
  var used: [(number: Int, path: PropertyPath)] {
    paths.enumerated().compactMap { number, path in path.map { (number, $0) } }
  }

  /// Whether all of `wanted` are in the table already, or there is room for them.
  func hasRoom(for wanted: [PropertyPath]) -> Bool {
    let new = wanted.filter { numbers[$0] == nil }
    return new.isEmpty || numbers.count + new.count <= Self.maxPaths
  }

  /// The number of a path, which is used once more.
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
