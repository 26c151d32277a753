// Arrays as parameters.

/// Returns `text` with `escape` before each of `marks`. Works on scalars: a quote followed by a combining
/// mark is another character.
func escaped(_ text: String, _ marks: String, by escape: Unicode.Scalar) -> String {
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if marks.unicodeScalars.contains(scalar) { result.append(escape) }
    result.append(scalar)
  }
  return String(result)
}

/// The text of an array of texts, as a parameter.
func arrayText(_ elements: some Sequence<String>) -> PostgresValue {
  let texts = elements.map { "\"\(escaped($0, "\"\\", by: "\\"))\"" }
  return .text("{" + texts.joined(separator: ",") + "}")
}

/// The text of an array of transaction ids, as a parameter.
func arrayText(_ transactions: [UInt64]) -> PostgresValue {
  .text("{" + transactions.map { String($0) }.joined(separator: ",") + "}")
}
