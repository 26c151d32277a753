// `tls-cert` and `tls-key` → the server's certificate; `trust-proxy` → the proxies whose reports count.

import ArgumentParser
import Foundation
import LiveFetchHTTPServer

/// The files of a certificate and its key.
struct CertificateFiles: Sendable {
  let certificatePath: String
  let keyPath: String

  /// Reads both files. Ends the command if they cannot be used.
  func certificate() throws -> TLSCertificate {
    for path in [certificatePath, keyPath] { try requireFile(path) }
    do throws(ReadError) {
      return try read { certificate, key throws(TLSError) in
        try TLSCertificate(certificate: certificate, key: key)
      }
    } catch {
      throw failure(error.message, .usage)
    }
  }

  /// Reads both files again. The certificate stays as it is if they cannot be used.
  func read(into certificate: TLSCertificate) {
    do throws(ReadError) {
      try read { newer, key throws(TLSError) in
        try certificate.replace(certificate: newer, key: key)
      }
      printError("\(certificatePath): read again")
    } catch {
      printError("\(error.message); the certificate from before stays in use")
    }
  }

  private struct ReadError: Error {
    let message: String
  }

  /// Passes the bytes of both files to `use`.
  private func read<Result>(
    _ use: (_ certificate: [UInt8], _ key: [UInt8]) throws(TLSError) -> Result
  ) throws(ReadError) -> Result {
    let (certificate, key) = (try Self.bytes(certificatePath), try Self.bytes(keyPath))
    do throws(TLSError) {
      return try use(certificate, key)
    } catch {
      throw ReadError(message: message(error))
    }
  }

  private static func bytes(_ path: String) throws(ReadError) -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ReadError(message: "\(path): cannot be read")
    }
    return [UInt8](data)
  }

  private func message(_ error: TLSError) -> String {
    switch error {
    case .unsupported: "the libmicrohttpd of this machine has no TLS: --tls-cert cannot be used"
    case .badCertificate(let reason): "\(certificatePath): no usable certificate: \(reason)"
    case .badKey(let reason): "\(keyPath): no usable private key: \(reason)"
    case .mismatch: "\(keyPath): not the key of the certificate in \(certificatePath)"
    }
  }
}

extension Settings {
  /// Returns nil without TLS.
  func certificateFiles() throws(SettingError) -> CertificateFiles? {
    switch (text(.tlsCert), text(.tlsKey)) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return CertificateFiles(certificatePath: certificate, keyPath: key)
    case (_?, nil): throw SettingError("--tls-cert needs --tls-key")
    case (nil, _?): throw SettingError("--tls-key needs --tls-cert")
    }
  }

  func trustedProxies() throws(SettingError) -> [AddressRange] {
    var ranges: [AddressRange] = []
    for text in texts(.trustProxy) {
      guard let range = AddressRange(text) else {
        throw SettingError(
          "--trust-proxy takes an address or a range such as 10.0.0.0/8, not '\(text)'")
      }
      ranges.append(range)
    }
    return ranges
  }
}
