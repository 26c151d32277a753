// The location of the programs that were built with the tests.

import Foundation

/// The programs in the directory of the running tests.
public enum BuiltProgram {
  /// The directory of the built products.
  public static let directory: URL = {
    let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    return (tests?.bundleURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
      .deletingLastPathComponent()
  }()

  public static func named(_ name: String) -> URL { directory.appendingPathComponent(name) }
}
