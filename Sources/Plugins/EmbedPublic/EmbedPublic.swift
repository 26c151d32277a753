// Public/ → a Swift source with the contents of every file, so that the program needs no other
// file.

import Foundation
import PackagePlugin

@main
struct EmbedPublic: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let package = context.package.directoryURL
    let folder = package.appending(path: "Public")
    let script = package.appending(path: "Sources/Plugins/EmbedPublic/embed.sh")
    let output = context.pluginWorkDirectoryURL.appending(path: "PublicFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding the files of Public", executable: URL(fileURLWithPath: "/bin/sh"),
        arguments: [script.path, folder.path, output.path],
        inputFiles: [script] + files(in: folder), outputFiles: [output])
    ]
  }

  /// Every regular file, in the order of the names: a file that is added or removed has the source
  /// made again.
  private func files(in folder: URL) -> [URL] {
    let found = FileManager.default.enumerator(
      at: folder, includingPropertiesForKeys: [.isRegularFileKey], options: .skipsHiddenFiles)
    let files = (found?.compactMap { $0 as? URL } ?? []).filter {
      (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
    }
    return files.sorted { $0.path < $1.path }
  }
}
