// Bytes → their SHA-256, computed by GnuTLS.

import CMicrohttpd

/// The SHA-256 of some bytes: 32 bytes.
public struct SHA256Digest: Hashable, Sendable {
  /// The number of bytes of every digest.
  public static let byteCount = 32
  /// The digest, the most significant byte first.
  public let bytes: [UInt8]

  /// Computes the digest of `content`.
  ///
  /// - Complexity: O(bytes).
  public init(of content: some Sequence<UInt8>) {
    let content = Array(content)
    bytes = Array(unsafeUninitializedCapacity: Self.byteCount) { digest, count in
      // It fails for unknown algorithms only.
      let status = gnutls_hash_fast(
        GNUTLS_DIG_SHA256, content, content.count, digest.baseAddress)
      precondition(status >= 0, "GnuTLS has no SHA-256")
      count = Self.byteCount
    }
  }
}
