// The files of Public/ → the JavaScript client as a package that `npm install URL` takes.

import FetchModel
import LiveFetchHTTPServer

/// A gzipped tar archive of the files that `package.json` lists, below `package/`. Equal files give
/// equal bytes.
enum NPMPackage {
  /// The path at which a server serves the package.
  static let path = "/livefetch.tgz"

  /// - Parameter files: the contents by path; each path begins with `/`.
  /// - Returns: nil if there is no `package.json` with a list of files, or a path has more than 93 bytes.
  static func archive(of files: [String: [UInt8]]) -> [UInt8]? {
    guard let description = files["/package.json"], let json = try? JSON(parsing: description),
      case .array(let listed)? = json["files"]
    else { return nil }
    let roots = listed.compactMap(\.string) + ["package.json"]
    var tar: [UInt8] = []
    for (path, content) in files.sorted(by: { $0.key < $1.key }) {
      let name = path.dropFirst()
      guard roots.contains(where: { name == $0 || name.hasPrefix($0 + "/") }) else { continue }
      guard let header = header(name: "package/\(name)", size: content.count) else { return nil }
      tar += header
      tar += content
      tar += [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
    }
    tar += [UInt8](repeating: 0, count: 1_024)
    return Gzip.compress(tar, level: 9)
  }

  /// The header of a regular file in POSIX's ustar format; nil if `name` has more than 100 bytes. The
  /// time is fixed, so that the bytes depend on the files alone.
  private static func header(name: String, size: Int) -> [UInt8]? {
    guard name.utf8.count <= 100, size < 1 << 33 else { return nil }
    var header = [UInt8](repeating: 0, count: 512)
    func put(_ text: String, at offset: Int) {
      header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
    }
    func octal(_ number: Int, digits: Int) -> String {
      let text = String(number, radix: 8)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    put(name, at: 0)
    put("0000644", at: 100)
    put("0000000", at: 108)
    put("0000000", at: 116)
    put(octal(size, digits: 11), at: 124)
    // 1 January 2000: some archivers refuse the time zero.
    put(octal(946_684_800, digits: 11), at: 136)
    put("        ", at: 148)
    put("0", at: 156)
    put("ustar\u{0}00", at: 257)
    let sum = header.reduce(0) { $0 + Int($1) }
    put(octal(sum, digits: 6) + "\u{0} ", at: 148)
    return header
  }
}
