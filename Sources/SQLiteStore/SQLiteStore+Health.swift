// An open store → the reasons for which it is not ready.

import FetchModel
import LiveFetchCLibrary

extension SQLiteStore {
  /// Bytes that have to be free on the disk for a save.
  private static let minFreeBytes: UInt64 = 64 << 10

  /// Checks the files and the free space, reads, and commits, as a client's fetch and save would.
  public func checkHealth(_ completion: @escaping @Sendable ([StoreFault]) -> Void) {
    let faults = [fileFault, spaceFault, readFault].compactMap(\.self)
    // With a fault a commit would fail too.
    guard let writer, faults.isEmpty else { return completion(faults) }
    writer.probe { [self] error in
      completion(error.map { [fileFault ?? Self.writeFault($0)] } ?? [])
    }
  }

  private var fileFault: StoreFault? {
    if let watch { return watch.files.condition.fault }
    guard let now = FileStatus(file.path) else { return FileCondition.removed.fault }
    return now.identity == file.identity ? nil : FileCondition.replaced.fault
  }

  /// Reported only if the store accepts saves. An unknown amount of free space is no fault.
  private var spaceFault: StoreFault? {
    guard writer != nil, let bytes = freeBytes, bytes < Self.minFreeBytes else { return nil }
    return StoreFault("disk-full", "The disk is full.")
  }

  /// The bytes that this process may still write to the disk of the file; nil if unknown.
  var freeBytes: UInt64? {
    var found = statvfs()
    guard statvfs(file.path, &found) == 0, found.f_blocks > 0 else { return nil }
    let blocks = geteuid() == 0 ? found.f_bfree : found.f_bavail
    return UInt64(blocks) &* UInt64(found.f_frsize)
  }

  private var readFault: StoreFault? {
    do throws(StoreError) {
      _ = try read(.quick) { transaction throws(StoreError) in
        try transaction.connection.first("SELECT count(*) FROM main.sqlite_schema") { _ in true }
      }
      return nil
    } catch .tooSlow {
      // A slow read is not a fault.
      return nil
    } catch {
      return StoreFault("read-failed", "The store cannot be read: \(error.summary).")
    }
  }

  /// The fault of a store in which a probe could not commit. A probe waits like a save, and is refused like
  /// one that waits for too long.
  static func writeFault(_ error: StoreError) -> StoreFault {
    switch error {
    case .diskFull: StoreFault("disk-full", "The disk is full.")
    case .busy: StoreFault("busy", "Another process holds the file, so that saves wait.")
    case .overloaded: StoreFault("busy", "Saves wait for too long.")
    default: StoreFault("write-failed", "The store cannot be written: \(error.summary).")
    }
  }
}

extension StoreError {
  /// The error for clients, without SQLite's message.
  fileprivate var summary: String {
    switch self {
    case .busy: "it is busy"
    case .readOnly: "its file or disk may only be read"
    case .storageFailed: "the storage failed"
    case .damaged: "the file is damaged"
    case .unusable: "the file cannot be used"
    default: "the store failed"
    }
  }
}
