// swift-tools-version: 6.1
import PackageDescription

// A program that uses the library, for the figures of library.py.
let package = Package(
  name: "LibraryBenchmark",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "LiveFetch", path: "../..", traits: []),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "LibraryBenchmark",
      dependencies: [
        .product(name: "LiveFetch", package: "LiveFetch"),
        // Its module is imported by the files that library.py has the compiler check.
        .product(name: "LiveFetchPredicates", package: "LiveFetch"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
