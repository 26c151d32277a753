import FetchModel
struct SaveExecutor { let model: Model; let schema: Schema
  func execute(_ request: SaveRequest, on connection: Connection, token: Token = .unfollowed) throws(SaveError) -> SaveResult { throw .malformed("x") } }
