import FetchModel
struct SaveExecutor { let model: Model; let schema: Schema
  func execute(_ request: SaveRequest, on connection: Connection, token: Token = .unfollowed) throws(SaveError) -> SaveResult { throw .malformed("x") } }
extension History { func changes(after: Token?, limit: Int, on: Connection) throws(StoreError) -> ChangeHistory? { nil } }
