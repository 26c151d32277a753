// The meaning of a SELECT's columns: the id, the parts of the order key, the values of the item.

import FetchModel

/// The expressions of a SELECT list, without duplicates.
struct ResultColumns {
  private(set) var expressions: [String] = []
  private var indexes: [String: Int32] = [:]

  /// Returns the index of the column that reads `sql`; adds a new one if needed.
  mutating func index(of sql: String) -> Int32 {
    if let index = indexes[sql] { return index }
    let index = Int32(expressions.count)
    expressions.append(sql)
    indexes[sql] = index
    return index
  }

  var count: Int { expressions.count }

  var list: String { expressions.joined(separator: ", ") }
}

/// The conversion of a column's stored value to JSON.
public enum ValueFormat: Sendable, Hashable {
  /// An id: an integer or text. A fraction, which an integer column of SQLite may hold, is text.
  case id
  /// The same, with integers beyond ±2^53 as strings.
  case largeIDAsString
  case number
  /// Integers beyond ±2^53 as strings.
  case largeNumberAsString
  case boolean
  case text
  case date(DateFormat)
  case binary
  case uuid
  /// Text that is JSON itself; other text becomes a string.
  case json
  /// A transformable value, decoded by the reader at that index of the layout.
  case transformable(Int)
  /// An array of ids that the statement built.
  case ids
  /// The same, with integers beyond ±2^53 as strings.
  case largeIDsAsStrings
  case etag
}

/// The layout of one plan's rows. Public, so that the stores' loops over rows are specialized: the
/// compiler does not do that for `package` symbols of another module.
public struct RowLayout: Sendable {
  /// A value of an item. Contains no reference-counted field, so that reading rows needs no
  /// reference counting.
  public struct Value: Sendable {
    /// The range of its key in ``RowLayout/keys``.
    public let key: Range<Int>
    /// The index of its column in the statement.
    public let column: Int32
    /// The way in which it is written as JSON.
    public let format: ValueFormat

    /// Makes the layout of one value.
    public init(key: Range<Int>, column: Int32, format: ValueFormat) {
      self.key = key
      self.column = column
      self.format = format
    }
  }

  /// One component of the order key.
  public struct Component: Sendable {
    /// The index of its column in the statement.
    public let column: Int32
    /// Ascending or descending.
    public let direction: Direction
    /// The position of NULL.
    public let nils: NilPlace

    /// Makes the layout of one component.
    public init(column: Int32, direction: Direction, nils: NilPlace) {
      self.column = column
      self.direction = direction
      self.nils = nils
    }
  }

  /// The index of the id's column in the statement.
  public var id: Int32 = 0
  /// The way in which the id is written as JSON.
  public var idFormat = ValueFormat.id
  /// The section's components come first.
  public var components: [Component] = []
  /// The number of the section's components.
  public var sectionComponents = 0
  /// The values of an item, in the order of its members.
  public private(set) var values: [Value] = []
  /// The decoders of transformable values.
  public private(set) var readers: [TransformableReader] = []
  /// The keys of the values as JSON, each with the preceding comma and the following colon:
  /// `,"name":`.
  public private(set) var keys: [UInt8] = []

  /// The number of columns of the statement.
  public internal(set) var columnCount = 0

  /// Makes a layout without columns.
  public init() {}

  /// Adds the decoder of a transformable attribute. Returns the format of its values.
  mutating func addReader(_ reader: TransformableReader) -> ValueFormat {
    readers.append(reader)
    return .transformable(readers.count - 1)
  }

  /// Adds a value of the item.
  mutating func addValue(key: String, column: Int32, format: ValueFormat) {
    let start = keys.count
    keys.append(0x2C)
    keys.append(jsonString: key)
    keys.append(0x3A)
    values.append(Value(key: start..<keys.count, column: column, format: format))
  }
}
