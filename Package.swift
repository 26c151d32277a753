// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

/// The commit that is built, in hexadecimal digits, from the environment: docker/build.sh sets it. Not
/// from git, so that sources without a repository build too and a commit does not have the next build
/// compile anything.
let commit = Context.environment["LIVEFETCH_COMMIT"].flatMap { text in
  text.isEmpty || !text.allSatisfy(\.isHexDigit) ? nil : text
}

/// True for a build that names its commit, and for docker/build.sh, which builds images and packages: each
/// dependency has exactly the version below, so that a commit is always built from the same sources.
let hasExactVersions = commit != nil || Context.environment["LIVEFETCH_EXACT_VERSIONS"] == "true"

/// The releases of a dependency that fit.
func releases(from first: Version) -> Range<Version> {
  let (major, minor, patch) = (first.major, first.minor, first.patch)
  return first..<(hasExactVersions ? Version(major, minor, patch + 1) : Version(major + 1, 0, 0))
}

/// What the dependencies depend on.
let indirect: [Package.Dependency] = [
  .package(url: "https://github.com/apple/swift-asn1.git", releases(from: "1.7.4")),
  .package(url: "https://github.com/apple/swift-certificates.git", releases(from: "1.21.1")),
]

let package = Package(
  name: "LiveFetch",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .executable(name: "livefetch", targets: ["LiveFetchCommand"]),
    .library(name: "LiveFetch", targets: ["LiveFetch"]),
    .library(name: "LiveFetchPredicates", targets: ["LiveFetchPredicates"]),
    .library(name: "Service", targets: ["Service"]),
  ],
  traits: [
    .default(enabledTraits: ["JWT"]),
    .trait(
      name: "JWT",
      description: "The server accepts JWTs, for which JWTKit and BoringSSL are built."),
    .trait(name: "Macros", description: "The macro @Entity, which builds swift-syntax."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", releases(from: "1.8.2")),
    .package(url: "https://github.com/apple/swift-collections", releases(from: "1.6.0")),
    .package(url: "https://github.com/apple/swift-crypto.git", releases(from: "4.5.2")),
    .package(url: "https://github.com/apple/swift-log.git", releases(from: "1.16.2")),
    .package(url: "https://github.com/swiftlang/swift-syntax", releases(from: "603.0.1")),
    .package(url: "https://github.com/vapor/jwt-kit", releases(from: "5.7.1")),
  ] + (hasExactVersions ? indirect : []),
  targets: [
    // The C libraries
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(
      name: "LiveFetchCSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CThreads"),

    // Threads and waiting for them
    .target(
      name: "LiveFetchThreads",
      dependencies: [
        "CThreads", "LiveFetchCLibrary",
        .product(name: "DequeModule", package: "swift-collections"),
      ]),

    // Mapped files that other programs truncate: the handler of SIGBUS
    .target(name: "LiveFetchCMappedFiles"),

    // The answers that libmicrohttpd gives by itself
    .target(name: "LiveFetchCQueueResponse", dependencies: ["CMicrohttpd"]),

    // The commit of the build
    .target(
      name: "LiveFetchCVersion",
      cSettings: commit.map { [.define("LIVEFETCH_COMMIT", to: $0)] } ?? []),

    // Glibc, Musl or Darwin under one name
    .target(name: "LiveFetchCLibrary"),

    // Pure functions of bytes: percent-encoding and hashes
    .target(name: "Bytes"),

    // Samples in Prometheus' data model
    .target(name: "LiveFetchMetrics"),

    // MATCHES, LIKE and searches in text, in linear time
    .target(name: "Patterns", dependencies: ["Bytes", "LiveFetchCLibrary"]),

    // Pure values
    .target(name: "FetchModel", dependencies: ["Bytes", "LiveFetchCLibrary", "Patterns"]),

    // Request targets → plans
    .target(name: "RequestPlans", dependencies: ["Bytes", "FetchModel"]),

    // Core Data's model documents
    .target(name: "CoreDataModels", dependencies: ["FetchModel"]),

    // Requests to servers
    .target(
      name: "HTTPClient",
      dependencies: [
        .target(name: "CCurl", condition: .when(platforms: [.linux])), "LiveFetchThreads",
        .product(name: "DequeModule", package: "swift-collections"),
      ]),

    // Plans → SQL in a store's dialect
    .target(name: "SQLComposer", dependencies: ["Bytes", "FetchModel"]),

    // Rows of composed statements → responses
    .target(name: "SQLResults", dependencies: ["Bytes", "FetchModel", "SQLComposer"]),

    // Model files → tables, indexes and triggers; and the entities of existing tables
    .target(name: "ModelStorage", dependencies: ["Bytes", "FetchModel", "SQLComposer"]),

    // Saves → the statements that execute them, on a database that a store provides
    .target(name: "SaveExecution", dependencies: ["FetchModel", "SQLComposer"]),

    // Siblings that meet only in Service and the command
    .target(
      name: "SQLiteStore",
      dependencies: [
        "Bytes", "FetchModel", "LiveFetchCLibrary", "LiveFetchCMappedFiles", "LiveFetchCSQLite",
        "LiveFetchMetrics", "LiveFetchThreads", "ModelStorage", "SQLComposer", "SQLResults",
        "SaveExecution",
      ]),
    .target(
      name: "PostgresStore",
      dependencies: [
        "Bytes", "CPostgres", "FetchModel", "LiveFetchCLibrary", "LiveFetchMetrics",
        "LiveFetchThreads", "ModelStorage", "Patterns", "SQLComposer", "SQLResults",
        "SaveExecution",
      ]),
    .target(
      name: "LiveQueries",
      dependencies: [
        "Bytes", "FetchModel", "LiveFetchThreads",
        .product(name: "HeapModule", package: "swift-collections"),
      ]),
    .target(
      name: "LiveFetchHTTPServer",
      dependencies: [
        "Bytes", "CMicrohttpd", "CZlib", "LiveFetchCQueueResponse", "LiveFetchThreads",
        .product(name: "HeapModule", package: "swift-collections"),
      ]),

    // The files of Public/, carried by the program
    .plugin(
      name: "EmbedPublic", capability: .buildTool(), path: "Sources/Plugins/EmbedPublic"),
    .target(name: "WebPage", plugins: ["EmbedPublic"]),

    .target(
      name: "Service",
      dependencies: [
        "Bytes", "FetchModel", "LiveQueries", "LiveFetchCLibrary", "LiveFetchCVersion",
        "LiveFetchHTTPServer", "LiveFetchMetrics", "LiveFetchThreads", "RequestPlans",
        .product(
          name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["JWT"])),
        .product(name: "JWTKit", package: "jwt-kit", condition: .when(traits: ["JWT"])),
        .product(name: "Logging", package: "swift-log"),
      ]),
    // @Entity, with the trait Macros only
    .macro(
      name: "LiveFetchMacros",
      dependencies: [
        .product(
          name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])
        ),
        .product(
          name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
      ]),
    .target(
      name: "LiveFetch",
      dependencies: [
        "Bytes", "FetchModel", "HTTPClient", "LiveQueries", "SQLiteStore",
        .target(name: "LiveFetchMacros", condition: .when(traits: ["Macros"])),
        .product(name: "DequeModule", package: "swift-collections"),
      ]),
    // Predicates of typed keys, whose operators only their users see
    .target(name: "LiveFetchPredicates", dependencies: ["Bytes", "FetchModel", "LiveFetch"]),
    .executableTarget(name: "LiveCities", dependencies: ["LiveFetch"]),
    .executableTarget(
      name: "LiveFetchCommand",
      dependencies: [
        "Bytes", "CoreDataModels", "FetchModel", "HTTPClient", "LiveFetchCLibrary", "PostgresStore",
        "SQLComposer", "SQLiteStore", "LiveFetchHTTPServer", "Service", "LiveFetchThreads",
        "WebPage", "CZlib",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      resources: [.copy("Resources/world"), .copy("Resources/models")]),

    // What the tests of several targets need
    .target(
      name: "TestSupport", dependencies: ["CMicrohttpd", "CPostgres", "LiveFetchCSQLite"],
      path: "Tests/TestSupport"),

    .testTarget(name: "ThreadsTests", dependencies: ["LiveFetchThreads", "TestSupport"]),
    .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "TestSupport"]),
    .testTarget(name: "PatternsTests", dependencies: ["Patterns", "FetchModel", "TestSupport"]),
    .testTarget(name: "CoreDataModelsTests", dependencies: ["CoreDataModels"]),
    .testTarget(name: "FetchModelTests", dependencies: ["FetchModel", "Patterns", "TestSupport"]),
    // `make fuzz` builds the same sources for libFuzzer.
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "Bytes", "FetchModel", "LiveFetchCLibrary", "Patterns", "RequestPlans", "TestSupport",
      ],
      path: "Tests/Fuzz", exclude: ["corpus", "run", "words.dict"]),
    .testTarget(
      name: "SQLiteStoreTests",
      dependencies: [
        "Bytes", "LiveFetchCMappedFiles", "LiveFetchCSQLite", "PostgresStore", "RequestPlans",
        "SQLComposer", "SQLResults", "SQLiteStore", "TestSupport",
      ]),
    .testTarget(
      name: "PostgresStoreTests",
      dependencies: [
        "Bytes", "FetchModel", "PostgresStore", "SQLComposer", "SQLiteStore", "TestSupport",
      ]),
    .testTarget(
      name: "LiveQueriesTests",
      dependencies: ["Bytes", "LiveQueries", "FetchModel", "SQLiteStore", "TestSupport"]),
    .testTarget(
      name: "LiveFetchTests",
      dependencies: [
        "LiveFetch", "LiveFetchPredicates", "HTTPClient", "SQLiteStore", "Service",
        "LiveFetchHTTPServer", "TestSupport",
        // Run as a program.
        "LiveCities",
      ]),
    .testTarget(
      name: "HTTPServerTests", dependencies: ["Bytes", "LiveFetchHTTPServer", "TestSupport"]),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "CoreDataModels", "PostgresStore", "RequestPlans", "Service", "SQLiteStore", "HTTPClient",
        "TestSupport",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "JWTKit", package: "jwt-kit"),
        // Run as a program by the tests of the command line.
        "LiveFetchCommand",
      ]),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "LiveFetchCommand", "HTTPClient", "LiveFetchHTTPServer", "FetchModel", "WebPage", "Service",
        "TestSupport",
      ],
      exclude: ["Stores"]),
  ],
  swiftLanguageModes: [.v6]
)
