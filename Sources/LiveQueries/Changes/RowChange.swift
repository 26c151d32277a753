// The old and the new row of one object, and what differs between them.

import FetchModel

/// An object's row before and after; nil if it is not in the result.
struct RowChange {
  let id: ObjectID
  let old: Row?
  let new: Row?

  /// An unspecified change.
  static let unknown = RowChange(id: .integer(0), old: nil, new: nil)

  var keyChange: KeyChange {
    KeyChange(id: id, oldKey: old?.key, newKey: new?.key, valuesChanged: valuesChanged)
  }

  /// The memory that the rows need, about.
  var byteCount: Int {
    [old, new].reduce(64) { $0 + ($1.map { $0.json.count + $0.key.bytes.count + 64 } ?? 0) }
  }

  /// 1 if the object entered the result, -1 if it left, otherwise 0.
  var countChange: Int { (new == nil ? 0 : 1) - (old == nil ? 0 : 1) }

  /// True if the row is the same, so that only related objects can have changed.
  var isSameRow: Bool {
    guard let old, let new else { return old == nil && new == nil }
    return old.key == new.key && !valuesChanged
  }

  private var valuesChanged: Bool {
    guard let old, let new, old.json != new.json || old.values != new.values else { return false }
    return !Self.differing(old, new).isEmpty
  }

  /// The indexes of the selected values that differ.
  static func differing(_ old: Row, _ new: Row) -> [Int] {
    zip(old.values, new.values).enumerated().compactMap { index, spans in
      old.text(spans.0) == new.text(spans.1) ? nil : index
    }
  }

  /// The selected values that differ as a JSON object, with the keys of items: all of them if there was
  /// no row before.
  func changedJSON(_ selection: [SelectedValue]) -> [UInt8] {
    var json: [UInt8] = [0x7B]
    if let new {
      let differing = old.map { Self.differing($0, new) } ?? Array(new.values.indices)
      for index in differing where index < selection.count {
        if json.count > 1 { json.append(0x2C) }
        json.append(jsonString: selection[index].key)
        json.append(0x3A)
        json.append(contentsOf: new.text(new.values[index]))
      }
    }
    json.append(0x7D)
    return json
  }
}

extension Row {
  fileprivate func text(_ span: Range<Int>) -> ArraySlice<UInt8> {
    json[span.clamped(to: json.indices)]
  }
}
