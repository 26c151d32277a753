// A value as SQLite stores it, for the few places that keep or compare values outside a statement.

import FetchModel

/// One stored value, exactly.
enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case double(Double)
  case text(String)
  case blob([UInt8])
}
