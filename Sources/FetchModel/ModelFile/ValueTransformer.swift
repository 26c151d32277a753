// Conversion of transformable values to and from their stored bytes, and the reading of stored
// bytes that may no longer be valid.

/// A value transformer that the embedding program registers under the name that attributes use.
public struct ValueTransformer: Sendable {
  /// Converts a client's value to stored bytes.
  public let encode: @Sendable (JSON) throws -> [UInt8]
  /// Converts stored bytes to a client's value.
  public let decode: @Sendable ([UInt8]) throws -> JSON

  /// Makes a value transformer.
  public init(
    encode: @escaping @Sendable (JSON) throws -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) throws -> JSON
  ) {
    self.encode = encode
    self.decode = decode
  }
}

/// Reads the stored values of one transformable attribute. Reading cannot fail: an invalid value
/// becomes an error value, `{"$error":"`Magic` is not a declared class"}`.
public struct TransformableReader: Sendable {
  private let attribute: ModelFile.Attribute
  private let classes: ClassHierarchy
  private let transformer: ValueTransformer?

  /// Returns nil if the attribute is not transformable.
  public init?(_ attribute: Attribute, in model: Model) {
    guard let declaration = attribute.declaration, declaration.type == .transformable else {
      return nil
    }
    self.attribute = declaration
    classes = model.classes
    transformer = declaration.transformer.flatMap { model.transformers[$0] }
  }

  /// Appends the JSON of a stored value.
  public func append(_ stored: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    switch value(of: stored) {
    case .success(let value): bytes.append(json: value)
    case .failure(let reason): Self.append(error: reason.text, to: &bytes)
    }
  }

  /// Appends an error value.
  public static func append(error reason: String, to bytes: inout [UInt8]) {
    bytes.append(json: .object([.init(name: "$error", value: .string(reason))]))
  }

  private struct Reason: Error { let text: String }

  private func value(of stored: UnsafeBufferPointer<UInt8>) -> Result<JSON, Reason> {
    let value: JSON
    if let name = attribute.transformer, !ModelFile.builtInTransformers.contains(name) {
      guard let transformer else {
        return .failure(Reason(text: "no transformer `\(name)` is registered"))
      }
      guard let decoded = try? transformer.decode(Array(stored)) else {
        return .failure(Reason(text: "`\(name)` cannot decode the stored bytes"))
      }
      value = decoded
    } else {
      guard let parsed = try? JSON(stored: Array(stored)) else {
        return .failure(Reason(text: "the stored value is not JSON"))
      }
      value = parsed
    }
    return classes.problem(in: value, of: attribute).map { .failure(Reason(text: $0)) }
      ?? .success(value)
  }
}
