// PostgreSQL's types → the types of attributes.

import FetchModel

extension CatalogColumn {
  /// The type of the attribute that this column becomes. Arrays and composite values are JSON; enums,
  /// and types without a counterpart, are strings in the server's text.
  var attributeType: AttributeType {
    if elementType != nil || typeKind == .composite { return .json }
    switch type {
    case TypeID.bool: return .boolean
    case TypeID.int2, TypeID.int4, TypeID.int8, TypeID.oid: return .integer
    case TypeID.float4, TypeID.float8: return .double
    case TypeID.numeric: return .decimal
    case TypeID.date, TypeID.timestamp, TypeID.timestamptz: return .date
    case TypeID.bytea: return .binary
    case TypeID.uuid: return .uuid
    case TypeID.json, TypeID.jsonb: return .json
    default: return .string
    }
  }

  /// True if an insertion need not give a value.
  var hasDefault: Bool { defaultExpression != nil || identity != nil || isGenerated }

  /// True if a save may give a value.
  var isWritable: Bool { !isGenerated && identity != .always }
}
