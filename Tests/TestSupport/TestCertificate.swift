// A self-signed certificate for 127.0.0.1, made by GnuTLS.

import CMicrohttpd

/// A certificate and its key, as PEM.
public struct TestCertificate: Sendable {
  public let certificate: [UInt8]
  public let key: [UInt8]

  public init() {
    var key: gnutls_x509_privkey_t?
    var certificate: gnutls_x509_crt_t?
    gnutls_x509_privkey_init(&key)
    gnutls_x509_crt_init(&certificate)
    defer {
      gnutls_x509_privkey_deinit(key)
      gnutls_x509_crt_deinit(certificate)
    }
    // The curve P-256.
    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, 0x8000_0000 | 2, 0)
    gnutls_x509_crt_set_version(certificate, 3)
    var serial = (0..<8).map { _ in UInt8.random(in: 1...127) }
    gnutls_x509_crt_set_serial(certificate, &serial, serial.count)
    gnutls_x509_crt_set_activation_time(certificate, 1_600_000_000)
    gnutls_x509_crt_set_expiration_time(certificate, 4_000_000_000)
    gnutls_x509_crt_set_dn(certificate, "CN=LiveFetch test \(serial[0])", nil)
    var address: [UInt8] = [127, 0, 0, 1]
    gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, &address, 4, 0)
    gnutls_x509_crt_set_basic_constraints(certificate, 1, -1)
    gnutls_x509_crt_set_key(certificate, key)
    gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0)
    self.certificate = Self.exported {
      gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, $0)
    }
    self.key = Self.exported { gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, $0) }
  }

  private static func exported(_ export: (UnsafeMutablePointer<gnutls_datum_t>) -> Int32) -> [UInt8]
  {
    var datum = gnutls_datum_t()
    guard export(&datum) == 0, let data = datum.data else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: Int(datum.size)))
  }
}
