// A certificate and its private key, as PEM → what GnuTLS presents in handshakes.
//
// Promises: a pair is checked completely before it is used; replacing it affects the handshakes that
// begin afterwards, and no connection.

import CMicrohttpd
import Glibc

/// Why a certificate and a key cannot be used.
public enum TLSError: Error, Equatable {
  /// libmicrohttpd was built without TLS.
  case unsupported
  /// The certificate cannot be read, with GnuTLS' reason.
  case badCertificate(String)
  /// The key cannot be read, with GnuTLS' reason.
  case badKey(String)
  /// The key is not the certificate's.
  case mismatch
}

/// The certificate of a server, which may be replaced while the server runs.
public final class TLSCertificate: Sendable {
  /// Protects the pairs. The last one is used. Earlier ones stay in memory, because GnuTLS does not
  /// report when a handshake no longer uses one.
  private let pairs: SanitizedMutex<[CertificatePair]>

  /// - Parameters:
  ///   - certificate: the certificate and those of the authorities that signed it, as PEM.
  ///   - key: the private key as PEM, not encrypted.
  public init(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
    guard chttp_supports_tls() != 0 else { throw .unsupported }
    pairs = SanitizedMutex([try CertificatePair(certificate, key)])
  }

  /// Presents another certificate from now on. Keeps the present one if it throws.
  public func replace(certificate: [UInt8], key: [UInt8]) throws(TLSError) {
    if pairs.withLock({ $0.last?.isMade(of: certificate, key) ?? false }) { return }
    let pair = try CertificatePair(certificate, key)
    pairs.withLock { $0.append(pair) }
  }

  fileprivate var current: CertificatePair? { pairs.withLock { $0.last } }

  // MARK: The worker's certificate

  /// A handshake runs on the worker of its connection, and GnuTLS passes no context to the callback.
  private static let threadKey: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Presents this certificate in the handshakes of this thread. The caller retains it.
  func useOnThisThread() {
    pthread_setspecific(Self.threadKey, Unmanaged.passUnretained(self).toOpaque())
  }

  fileprivate static var ofThisThread: TLSCertificate? {
    pthread_getspecific(threadKey).map {
      Unmanaged<TLSCertificate>.fromOpaque($0).takeUnretainedValue()
    }
  }
}

/// One certificate with its key, in GnuTLS' form.
private final class CertificatePair: @unchecked Sendable {
  /// The maximum number of certificates from the server's to the last authority's.
  private static let maxLength: UInt32 = 16

  private let certificateBytes: [UInt8]
  private let keyBytes: [UInt8]
  let chain = UnsafeMutablePointer<gnutls_pcert_st>.allocate(capacity: Int(maxLength))
  private(set) var count = maxLength
  private(set) var key: gnutls_privkey_t?

  init(_ certificate: [UInt8], _ key: [UInt8]) throws(TLSError) {
    certificateBytes = certificate
    keyBytes = key
    chain.initialize(repeating: gnutls_pcert_st(), count: Int(Self.maxLength))
    var status = Self.withDatum(certificate) { datum in
      gnutls_pcert_list_import_x509_raw(
        chain, &count, datum, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_SORT.rawValue)
    }
    if status < 0 { count = 0 }
    guard status >= 0, count > 0 else { throw .badCertificate(Self.reason(status)) }
    gnutls_privkey_init(&self.key)
    status = Self.withDatum(key) { datum in
      gnutls_privkey_import_x509_raw(self.key, datum, GNUTLS_X509_FMT_PEM, nil, 0)
    }
    guard status >= 0 else { throw .badKey(Self.reason(status)) }
    try Self.checkMatch(certificate, key)
  }

  deinit {
    for index in 0..<Int(count) { gnutls_pcert_deinit(chain + index) }
    chain.deallocate()
    if let key { gnutls_privkey_deinit(key) }
  }

  func isMade(of certificate: [UInt8], _ key: [UInt8]) -> Bool {
    certificate == certificateBytes && key == keyBytes
  }

  private static func checkMatch(_ certificate: [UInt8], _ key: [UInt8]) throws(TLSError) {
    var credentials: gnutls_certificate_credentials_t?
    guard gnutls_certificate_allocate_credentials(&credentials) >= 0 else {
      throw .badCertificate("no memory")
    }
    defer { gnutls_certificate_free_credentials(credentials) }
    let status = withDatum(certificate) { certificate in
      withDatum(key) { key in
        gnutls_certificate_set_x509_key_mem2(
          credentials, certificate, key, GNUTLS_X509_FMT_PEM, nil, 0)
      }
    }
    if status == GNUTLS_E_CERTIFICATE_KEY_MISMATCH { throw .mismatch }
    guard status >= 0 else { throw .badCertificate(reason(status)) }
  }

  private static func withDatum<Result>(
    _ bytes: [UInt8], _ body: (UnsafePointer<gnutls_datum_t>) -> Result
  ) -> Result {
    var bytes = bytes
    return bytes.withUnsafeMutableBufferPointer { buffer in
      var datum = gnutls_datum_t(data: buffer.baseAddress, size: UInt32(clamping: buffer.count))
      return body(&datum)
    }
  }

  private static func reason(_ status: Int32) -> String { String(cString: gnutls_strerror(status)) }
}

/// Called by GnuTLS in each handshake, on the connection's worker.
func chooseCertificate(
  _ session: gnutls_session_t?, _ authorities: UnsafePointer<gnutls_datum_t>?,
  _ authorityCount: Int32, _ algorithms: UnsafePointer<gnutls_pk_algorithm_t>?,
  _ algorithmCount: Int32, _ chain: UnsafeMutablePointer<UnsafeMutablePointer<gnutls_pcert_st>?>?,
  _ count: UnsafeMutablePointer<UInt32>?, _ key: UnsafeMutablePointer<gnutls_privkey_t?>?
) -> Int32 {
  guard let pair = TLSCertificate.ofThisThread?.current else { return -1 }
  chain?.pointee = pair.chain
  count?.pointee = pair.count
  key?.pointee = pair.key
  return 0
}
