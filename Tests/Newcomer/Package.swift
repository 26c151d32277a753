// swift-tools-version: 6.2
import PackageDescription

// A package of its own that uses the library as an app does: by its product, in a module whose
// default isolation is MainActor, beside GRDB, with every warning an error.
let package = Package(
  name: "Newcomer",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [
    .package(name: "LiveFetch", path: "../..", traits: ["Macros"]),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .testTarget(
      name: "NewcomerTests",
      dependencies: [
        .product(name: "LiveFetch", package: "LiveFetch"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: [
        .defaultIsolation(MainActor.self),
        .strictMemorySafety(),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .treatAllWarnings(as: .error),
      ])
  ],
  swiftLanguageModes: [.v6]
)
