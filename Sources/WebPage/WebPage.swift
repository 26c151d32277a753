// The files of Public/ as they were when the program was built.

import Foundation

/// The web page, its client library and the manual.
public enum WebPage {
  /// The contents by their paths, which begin with `/`. Decoded at the first use.
  public static let files: [String: [UInt8]] = Dictionary(
    uniqueKeysWithValues: publicFiles.map { path, base64 in
      (path, [UInt8](Data(base64Encoded: base64) ?? Data()))
    })
}
