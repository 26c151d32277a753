// An open file → its model, and the tables and columns that hold it.

import FetchModel
import ModelStorage
import SQLComposer

extension Introspection {
  /// Uses the model that the file stores, mapped to its tables; without one, infers a model from
  /// the tables.
  init(of connection: Connection) throws(StoreError) {
    if let model = try ModelOpening.storedModel(on: connection) {
      self = try ModelOpening.introspection(of: ModelTables(model, .sqlite), on: connection)
    } else {
      try self.init(tablesOf: connection)
    }
  }

  /// Reads the catalog, and the first value of each column whose declaration does not determine
  /// its type or date format.
  init(tablesOf connection: Connection) throws(StoreError) {
    let encoding = try connection.first("PRAGMA encoding") { $0.text(0) }
    self.init(
      tables: try SchemaReader(connection: connection).tables(), isUTF8: encoding == "UTF-8")
  }
}
