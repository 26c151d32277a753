// Measures the processor time of what the library does, all threads together, and prints one line for
// each: the name, a tab, and the seconds.

import Foundation

@main
@MainActor
enum Program {
  static func main() async throws {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "saves": try await saves()
    case "results": try await results()
    case "rows" where arguments.count == 3: try await rows(arguments[2])
    case "first" where arguments.count == 3: try await first(arguments[2])
    default:
      FileHandle.standardError.write(
        Data("usage: LibraryBenchmark saves | results | (rows | first) NEW-FILE\n".utf8))
      exit(2)
    }
  }

  /// Prints the time since `start`.
  ///
  /// - Parameter count: how often the measured action was done.
  static func report(_ name: String, since start: clock_t, count: Int = 1) {
    print("\(name)\t\(seconds(clock() - start) / Double(count))")
  }

  static func seconds(_ time: clock_t) -> Double { Double(time) / Double(CLOCKS_PER_SEC) }
}
