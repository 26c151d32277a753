// The history of saves: which objects came, changed and went.

import FetchModel
import HTTPServer
import LiveQueries

extension Service {
  /// The most saves of one answer.
  static let maxSaves = 1_000

  func changes(_ call: Call) throws(Problem) {
    throw .notImplemented("`/v1/changes`")
  }
}
