import FetchModel
extension History { func changes(after: Token?, limit: Int, on: Connection) throws(StoreError) -> ChangeHistory? { nil } }
