// JSON of the server → what the commands print of it.

import FetchModel

extension JSON {
  /// The elements of an array; empty for other values.
  var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }

  /// The text of a table cell: text without quotes, empty for null, other values as JSON.
  var cellText: String {
    switch self {
    case .null: ""
    case .string(let text): text.onOneLine
    default: text
    }
  }
}
