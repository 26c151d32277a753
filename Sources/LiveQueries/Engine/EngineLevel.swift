// The engines of a store, by the callers that they serve.

import FetchModel

/// The engines through which a caller passes whose fetches take much time.
enum EngineLevel {
  /// One engine. It serves every caller at first.
  case first
  /// One engine. It serves the callers whose time on the first one is used up: also those of ordinary
  /// fetches that saves affect all the time.
  case second
  /// Up to four engines, for the callers whose time on the second one is used up.
  case third

  /// The level of the callers whose time is used up; nil for the last one.
  var next: EngineLevel? {
    switch self {
    case .first: .second
    case .second: .third
    case .third: nil
    }
  }

  /// The most engines of this level.
  var engineLimit: Int { self == .third ? 4 : 1 }

  /// At most 15 bytes.
  var threadName: String {
    switch self {
    case .first: "livefetch-live"
    case .second: "livefetch-live2"
    case .third: "livefetch-live3"
    }
  }

  /// The time that a caller may use.
  func callerTimes(_ configuration: LiveConfiguration) -> CallerTimes {
    switch self {
    case .first: CallerTimes(limit: configuration.callerTime, refillRate: 0.05)
    case .second: CallerTimes(limit: configuration.callerTime * 10, refillRate: 0.5)
    case .third: CallerTimes(limit: nil)
    }
  }
}
