// The settings of a server in one table. It determines the flags, the environment variables, the
// keys of the configuration file, and the output of `livefetch config`.

import Foundation

/// A setting: its name, the type of its value, and its description.
struct Setting: Sendable, Hashable {
  /// The type of a setting's value.
  enum Kind: Sendable, Hashable {
    /// A text that restricts or grants access; never empty.
    case text
    /// A text that is never printed and never empty.
    case secret
    /// The path of a file; never empty.
    case path
    /// Texts: a flag that is repeated, a variable with commas, an array in the file. The associated
    /// value is the placeholder of one of them in a flag's help.
    case list(String)
    case directory
    case integer(ClosedRange<Int>)
    /// A number greater than zero.
    case number
    /// A time greater than zero, with its unit: `90s`, `15m`, `1h`, `7d`, `2w`.
    case duration
    case choice([String])
    case flag
  }

  /// The name of the flag without its dashes, and the key in the file.
  let name: String
  let kind: Kind
  /// The default; nil without one.
  let defaultValue: SettingValue?
  /// The default as the documentation shows it.
  let documentedDefault: String
  let meaning: String

  init(
    _ name: String, _ kind: Kind, _ defaultValue: SettingValue?, shown: String? = nil,
    _ meaning: String
  ) {
    self.name = name
    self.kind = kind
    self.defaultValue = defaultValue
    documentedDefault = shown ?? defaultValue?.description ?? "none"
    self.meaning = meaning
  }

  /// `LIVEFETCH_MAX_ITEMS`.
  var variable: String {
    "LIVEFETCH_" + name.uppercased().replacingOccurrences(of: "-", with: "_")
  }

  /// The placeholder of the value in a flag's help.
  var placeholder: String {
    switch kind {
    case .text, .secret: name
    case .path: "file"
    case .list(let placeholder): placeholder
    case .directory: "directory"
    case .integer, .number: "n"
    case .duration: "time"
    case .choice(let choices): choices.joined(separator: "|")
    case .flag: ""
    }
  }
}

/// The value of a setting.
enum SettingValue: Sendable, Hashable, CustomStringConvertible {
  case text(String)
  case list([String])
  case integer(Int)
  case number(Double)
  /// In seconds.
  case duration(Double)
  case flag(Bool)

  var description: String {
    switch self {
    case .text(let text): text
    case .list(let texts): texts.joined(separator: ",")
    case .integer(let integer): String(integer)
    case .number(let number): number == number.rounded() ? String(Int(number)) : String(number)
    case .duration(let seconds): SettingValue.number(seconds).description + "s"
    case .flag(let isOn): isOn ? "on" : "off"
    }
  }
}

// MARK: - The table

extension Setting {
  static let host = Setting(
    "host", .text, .text("127.0.0.1"),
    "the address to listen on; anything but loopback needs a way to authenticate or `--insecure-open`"
  )
  static let port = Setting(
    "port", .integer(0...65_535), .integer(8080), "the port; 0 picks a free one")
  static let model = Setting(
    "model", .path, nil,
    "the model: a JSON file of entities and their rules, kept in the store")
  static let publicDirectory = Setting(
    "public", .directory, nil, shown: "the page in the program",
    "a directory of files to serve in place of the program's own web page")
  static let token = Setting(
    "token", .secret, nil,
    "the token that may do everything; the list of processes shows it if it is given as a flag")
  static let tokenFile = Setting(
    "token-file", .path, nil, "a file that holds the token")
  static let jwtKey = Setting(
    "jwt-key", .path, nil,
    "a file with the key of JWTs: a PEM public key, a JWKS, or the secret of HS256")
  static let jwksURL = Setting(
    "jwks-url", .text, nil, "the `https` address of a JWKS with the keys of JWTs")
  static let jwtIssuer = Setting(
    "jwt-issuer", .text, nil, "the `iss` that JWTs must have")
  static let jwtAudience = Setting(
    "jwt-audience", .text, nil, "what the `aud` of JWTs must be or contain")
  static let jwtRolesClaim = Setting(
    "jwt-roles-claim", .text, .text("roles"),
    "the claim with the roles of a JWT; dots lead into objects")
  static let access = Setting(
    "access", .path, nil,
    "a JSON file of access rules; without it those of the model apply")
  static let anonymous = Setting(
    "anonymous", .flag, .flag(false),
    "serve requests without a credential under the access rules; needs rules and a way to authenticate"
  )
  static let insecureOpen = Setting(
    "insecure-open", .flag, .flag(false), "start on any address without a way to authenticate")
  static let allowHost = Setting(
    "allow-host", .list("name"), nil,
    "a host name that requests may name, besides those of loopback; may be repeated")
  static let corsOrigin = Setting(
    "cors-origin", .list("origin"), nil,
    "an origin that browsers may call from, or `*`; may be repeated")
  static let tlsCert = Setting(
    "tls-cert", .path, nil,
    "the certificate for HTTPS with those of the authorities behind it, a PEM file; needs `--tls-key`"
  )
  static let tlsKey = Setting(
    "tls-key", .path, nil, "the private key of `--tls-cert`, a PEM file without a password")
  static let trustProxy = Setting(
    "trust-proxy", .list("address"), nil,
    "the address or range of a proxy whose `Forwarded` or `X-Forwarded-…` is trusted; may be repeated"
  )
  static let logRequests = Setting(
    "log-requests", .flag, .flag(false), "log one line for each request to standard error")
  static let logFormat = Setting(
    "log-format", .choice(["text", "json"]), .text("text"), "the format of log lines")
  static let audit = Setting(
    "audit", .path, nil, "a file to which a line of JSON is appended for each save")
  static let limit = Setting(
    "limit", .list("name=value"), nil,
    "a quota of each caller: `requests-per-second`, `saves-per-second`, `bytes-per-second`, `waiting-requests` or `live-fetches`; may be repeated"
  )
  static let maxItems = Setting(
    "max-items", .integer(1...Int(Int32.max)), .integer(10_000), "the most items of a snapshot")
  static let queryTimeout = Setting(
    "query-timeout", .number, .number(10), "seconds that a query may take")
  static let maxBody = Setting(
    "max-body", .integer(1...Int(Int32.max)), .integer(16 << 20),
    "the largest body of a request, in bytes")
  static let maxAnswer = Setting(
    "max-answer", .integer(1...Int(Int32.max)), .integer(64 << 20),
    "the most bytes of an answer; a larger one is refused with `answer-too-large`")
  static let maxMemoryInFlight = Setting(
    "max-memory-in-flight", .integer(1 << 20...Int.max), .integer(512 << 20),
    "the most bytes of all request bodies and answers in memory together")
  static let maxLiveMemory = Setting(
    "max-live-memory", .integer(1 << 20...Int.max), .integer(SystemMemory.bytes / 2),
    shown: "half of the memory",
    "about how many bytes all live fetches together may keep in memory")
  static let shutdownTimeout = Setting(
    "shutdown-timeout", .number, .number(20),
    "seconds that the server may take to end after SIGTERM")
  static let durability = Setting(
    "durability", .choice(["full", "normal"]), .text("full"),
    "what an answered save survives: power loss (`full`) or only a crash (`normal`)")
  static let keepHistory = Setting(
    "keep-history", .integer(1...Int.max), .integer(1_000_000),
    "how many changed rows the history keeps")
  static let keepDays = Setting(
    "keep-days", .number, .number(7), "how many days the history keeps")
  static let keepIdle = Setting(
    "keep-idle", .number, .number(60),
    "how many seconds a fetch without waiting clients stays in memory")
  static let keepBytes = Setting(
    "keep-bytes", .integer(1...Int.max), .integer(1 << 30),
    "about how many bytes the history keeps")
  static let backupEvery = Setting(
    "backup-every", .duration, nil,
    "the time between two checked backups of the file while it is served: `30m`, `1h`, `1d`")
  static let backupTo = Setting(
    "backup-to", .path, nil, shown: "`STORE.backups`",
    "the directory of the backups of `--backup-every`, which is created if it is missing")
  static let keep = Setting(
    "keep", .integer(1...100_000), .integer(24), "how many backups of `--backup-every` are kept")
  static let workers = Setting(
    "workers", .integer(1...64),
    .integer(max(2, min(16, ProcessInfo.processInfo.activeProcessorCount))),
    shown: "number of cores", "threads that read and write sockets")
  static let maxConnections = Setting(
    "max-connections", .integer(1...1_000_000), .integer(20_000),
    "the most connections at the same time; further ones wait until one ends")
  static let maxAddressConnections = Setting(
    "max-connections-per-address", .integer(1...1_000_000), nil,
    "the most connections of one address; further ones are closed. Not behind a proxy")
  static let idleTimeout = Setting(
    "idle-timeout", .integer(1...86_400), .integer(75),
    "seconds that a connection may stay open after a request; a new one has 15 s for its first")
  static let create = Setting(
    "create", .flag, .flag(false),
    "create a missing file, without any tables; `--model` creates it with its tables")
  static let readOnly = Setting(
    "read-only", .flag, .flag(false), "fetches only: no saves, no `since`")
  static let explain = Setting(
    "explain", .flag, .flag(false), "answer `explain=true` with the SQL and the database's plan")
  static let serverTiming = Setting(
    "server-timing", .flag, .flag(false), "send `Server-Timing` with the stages of each request")

  /// Every setting, in display order.
  static let all = [
    host, port, model, publicDirectory, token, tokenFile, jwtKey, jwksURL, jwtIssuer, jwtAudience,
    jwtRolesClaim, access, anonymous, insecureOpen, allowHost, corsOrigin, tlsCert, tlsKey,
    trustProxy, logRequests, logFormat, audit, limit, maxItems, queryTimeout, maxBody, maxAnswer,
    maxMemoryInFlight, maxLiveMemory, shutdownTimeout, durability,
    keepHistory, keepDays, keepBytes, keepIdle, backupEvery, backupTo, keep, workers,
    maxConnections, maxAddressConnections, idleTimeout, create, readOnly, explain, serverTiming,
  ]

  /// The settings that SIGHUP reads again. The others take effect when the server starts.
  static let reloaded: Set<Setting> = [
    publicDirectory, token, tokenFile, jwtKey, jwksURL, jwtIssuer, jwtAudience, jwtRolesClaim,
    access, anonymous, insecureOpen, corsOrigin, limit, maxItems, queryTimeout, maxAnswer,
    maxLiveMemory, keepHistory, keepDays, keepBytes, keepIdle, explain, serverTiming,
  ]
}
