// Media types by file name.

/// The media types of a web page's files.
public enum ContentType {
  /// The media type for the file name's extension; `application/octet-stream` if unknown.
  public static func ofFile(named name: some StringProtocol) -> String {
    guard let dot = name.lastIndex(of: ".") else { return unknown }
    return types[name[name.index(after: dot)...].lowercased()] ?? unknown
  }

  /// True if bodies of this type compress well.
  public static func isCompressible(_ type: String) -> Bool {
    type.hasPrefix("text/") || type.hasPrefix("application/json") || type.hasSuffix("+json")
      || type.hasPrefix("image/svg") || type == "application/wasm" || type.hasSuffix("xml")
  }

  private static let unknown = "application/octet-stream"

  private static let types = [
    "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
    "ts": "text/plain; charset=utf-8", "map": "application/json",
    "json": "application/json", "webmanifest": "application/manifest+json",
    "txt": "text/plain; charset=utf-8", "py": "text/x-python; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "csv": "text/csv; charset=utf-8", "xml": "application/xml",
    "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon",
    "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
    "wasm": "application/wasm", "tgz": "application/gzip", "pdf": "application/pdf",
    "mp3": "audio/mpeg", "mp4": "video/mp4", "webm": "video/webm",
  ]
}
