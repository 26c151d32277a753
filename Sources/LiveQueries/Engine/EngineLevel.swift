// The callers that an engine serves: every caller, those that have used up their time there, and those
// that have also used up their time among these.

import FetchModel

/// The engines of a store, in the order in which a caller gets to them.
enum EngineLevel {
  /// Serves every caller at first.
  case all
  /// Serves the callers that need more time together: ordinary fetches too, if saves affect them all the
  /// time.
  case frequent
  /// Each serves one caller that takes most of the time, while there are no more than engines.
  case slow

  /// The level of the callers whose time is used up; nil for the last one.
  var next: EngineLevel? {
    switch self {
    case .all: .frequent
    case .frequent: .slow
    case .slow: nil
    }
  }

  /// The most engines of this level.
  var engineLimit: Int { self == .slow ? 4 : 1 }

  var threadName: String {
    switch self {
    case .all: "livefetch-live"
    case .frequent: "livefetch-often"
    case .slow: "livefetch-slow"
    }
  }

  /// The time that a caller may use.
  func callerTimes(_ configuration: LiveConfiguration) -> CallerTimes {
    switch self {
    case .all: CallerTimes(limit: configuration.callerTime, share: 0.05)
    case .frequent: CallerTimes(limit: configuration.callerTime * 10, share: 0.5)
    case .slow: CallerTimes(limit: nil)
    }
  }
}
