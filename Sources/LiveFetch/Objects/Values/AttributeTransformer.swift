// Converts values of any type to and from stored values by closures.

import FetchModel
import Foundation
import SQLiteStore
import Synchronization

/// Converts a value to a stored value and back.
///
/// ```swift
/// let hexColour = AttributeTransformer<Colour, String>(
///   transform: { $0.hexadecimal },
///   reverseTransform: { try Colour(hexadecimal: $0) })
/// hexColour.register(as: "HexColour")
///
/// final class Team: ManagedObject, ManagedObjectType {
///   enum Key: String, KeyCodable { case colour }
///   @Managed(.colour, transformer: "HexColour") var colour: Colour?
/// }
/// ```
public struct AttributeTransformer<Value, Stored>: Sendable {
  let transform: @Sendable (Value) throws -> Stored
  let reverseTransform: @Sendable (Stored) throws -> Value

  /// - Parameters:
  ///   - transform: converts a value for the store. If it throws, the value cannot be saved.
  ///   - reverseTransform: converts a stored value. If it throws, the value is unreadable.
  public init(
    transform: @escaping @Sendable (Value) throws -> Stored,
    reverseTransform: @escaping @Sendable (Stored) throws -> Value
  ) {
    self.transform = transform
    self.reverseTransform = reverseTransform
  }
}

extension AttributeTransformer where Stored: AttributeValue {
  /// Registers the transformer under a name for the whole program. It replaces an earlier one of
  /// that name.
  public func register(as name: String) {
    RegisteredTransformers.shared[name] = self
  }

  var coding: AttributeCoding<Value> {
    AttributeCoding(
      decode: { [reverseTransform] json throws(UnreadableValue) in
        let stored = try Stored.attributeValue(of: try json.checkedForError())
        do { return try reverseTransform(stored) } catch { throw UnreadableValue(error) }
      },
      encode: { [transform] value throws(UnreadableValue) in
        let stored: Stored
        do { stored = try transform(value) } catch { throw UnreadableValue(error) }
        return try stored.attributeJSON()
      })
  }
}

extension UnreadableValue {
  init(_ error: any Error) {
    self = error as? UnreadableValue ?? UnreadableValue("cannot be transformed: \(error)")
  }
}

/// A transformer without its types.
protocol RegisteredTransformer: Sendable {
  /// The `AttributeCoding` of its values.
  var anyCoding: Any { get }
}

extension AttributeTransformer: RegisteredTransformer where Stored: AttributeValue {
  var anyCoding: Any { coding }
}

/// The transformers of this program.
final class RegisteredTransformers: Sendable {
  static let shared = RegisteredTransformers()

  // Protects the table.
  private let byName = Mutex<[String: any RegisteredTransformer]>([:])

  subscript(name: String) -> (any RegisteredTransformer)? {
    get { byName.withLock { $0[name] } }
    set { byName.withLock { $0[name] = newValue } }
  }
}

// MARK: - In a store of this process

extension LocalStore {
  /// The options for opening a file.
  public typealias Options = SQLiteStoreOptions
}

extension SQLiteStoreOptions {
  /// Registers a transformer for attributes of a model that name it: the file then contains
  /// transformed values, and clients see JSON.
  ///
  /// ```swift
  /// var options = LocalStore.Options()
  /// // {"name":"key","type":"Transformable","transformer":"Sealed"}
  /// options.register(sealed, as: "Sealed")
  /// ```
  public mutating func register<Value: Codable & Sendable>(
    _ transformer: AttributeTransformer<Value, Data>, as name: String
  ) {
    transformers[name] = FetchModel.ValueTransformer(
      encode: { json in
        Array(try transformer.transform(try ItemCoding.decode(Value.self, from: json)))
      },
      decode: { bytes in try ItemCoding.encode(try transformer.reverseTransform(Data(bytes))) })
  }
}
