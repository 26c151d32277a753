// The tables that a query plan reads, and the existing indexes, for the suggestion of further ones.

import FetchModel
import SQLComposer

/// A column of an existing index.
struct IndexedColumn {
  let name: String
  let collation: String?
  /// True if the collation is the one that the column declares.
  let hasOwnCollation: Bool
  let isDescending: Bool
  let hasNullsFirst: Bool
}

extension PostgresReadTransaction {
  /// Returns the columns of each index of a table that a statement without a condition of its own can
  /// use: those that are valid and complete, whose columns have the default operators.
  func indexes(of table: String) throws(StoreError) -> [[IndexedColumn]] {
    let rows = try withStoreErrors { () throws(PostgresError) in
      try connection.query(
        """
        SELECT k.place, a.attname, l.collname, k.collated = a.attcollation, k.flags & 1 <> 0,
          k.flags & 2 <> 0
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
          JOIN pg_am AS m ON m.oid = c.relam
          CROSS JOIN unnest(i.indkey::int2[], i.indcollation::oid[], i.indoption::int2[])
            WITH ORDINALITY AS k (number, collated, flags, place)
          JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
          LEFT JOIN pg_collation AS l ON l.oid = k.collated
        WHERE i.indrelid = to_regclass($1) AND m.amname = 'btree' AND i.indisvalid
          AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
          AND NOT EXISTS (SELECT FROM unnest(i.indclass::oid[]) AS u (class)
            JOIN pg_opclass AS o ON o.oid = u.class WHERE NOT o.opcdefault)
        ORDER BY i.indexrelid, k.place
        """, [.text(quoted(table))]
      ).rows()
    }
    var indexes: [[IndexedColumn]] = []
    for row in rows {
      let column = IndexedColumn(
        name: row[1].string ?? "", collation: row[2].string, hasOwnCollation: row[3] == true,
        isDescending: row[4] == true, hasNullsFirst: row[5] == true)
      if row[0] == 1 { indexes.append([]) }
      indexes[indexes.count - 1].append(column)
    }
    return indexes
  }
}

extension IndexSuggestion {
  /// True if the index begins with the suggested columns, with their collations, and has their order
  /// forwards or backwards.
  func isServed(by index: [IndexedColumn]) -> Bool {
    guard isServed(by: index.map(\.name)) else { return false }
    let pairs = zip(terms, index)
    let orders = pairs.compactMap { term, column in
      term.order.map { order in
        let hasNullsFirst = order.nulls.isEmpty ? order.isDescending : order.nulls == " NULLS FIRST"
        return (
          isAlike: order.isDescending == column.isDescending
            && hasNullsFirst == column.hasNullsFirst,
          isReversed: order.isDescending != column.isDescending
            && hasNullsFirst != column.hasNullsFirst
        )
      }
    }
    return pairs.allSatisfy { $0.isCollated(as: $1) }
      && (orders.allSatisfy(\.isAlike) || orders.allSatisfy(\.isReversed))
  }
}

extension IndexSuggestion.Term {
  fileprivate func isCollated(as column: IndexedColumn) -> Bool {
    guard let collation else { return column.hasOwnCollation }
    return column.collation.map { quoted($0) } == collation
  }
}

extension TableRead {
  /// Returns the reads of the tables in a step of `EXPLAIN (FORMAT JSON)` and in the steps below it.
  /// A joined table that is read once for all objects is left out.
  ///
  /// - Parameters:
  ///   - isSorted: True if a step above sorts the rows.
  ///   - isRepeated: True if a step above executes the step for each of its rows.
  static func reads(
    in node: JSON, isSorted: Bool = false, isRepeated: Bool = false
  ) -> [TableRead] {
    let type = node["Node Type"]?.string ?? ""
    // A partition's alias is `t0_1`.
    let alias = node["Alias"]?.string?.split(separator: "_").first.map { String($0) } ?? ""
    let isSorted = isSorted || type == "Sort" || type == "Incremental Sort"
    var reads: [TableRead] = []
    if let method = method(of: node, type, isSorted: isSorted), alias == "t0" || isRepeated {
      reads.append(TableRead(alias: alias, method: method, isSorted: isSorted))
    }
    guard case .array(let children)? = node["Plans"] else { return reads }
    for child in children {
      let relation = child["Parent Relationship"]?.string
      let isInner = type == "Nested Loop" && relation == "Inner"
      reads += Self.reads(
        in: child, isSorted: isSorted,
        isRepeated: isRepeated || isInner || relation == "SubPlan")
    }
    return reads
  }

  private static func method(of node: JSON, _ type: String, isSorted: Bool) -> Method? {
    switch type {
    case "Seq Scan": .everyRow
    case "Bitmap Heap Scan": .foundRows
    case "Index Scan" where node["Index Cond"] != nil,
      "Index Only Scan" where node["Index Cond"] != nil:
      .foundRows
    // An index that gives an order.
    case "Index Scan", "Index Only Scan": isSorted || node["Filter"] != nil ? .everyRow : nil
    default: nil
    }
  }
}
