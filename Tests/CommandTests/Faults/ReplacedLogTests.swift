// Another program removes the write-ahead log of a served file and writes to the file.

import Foundation
import TestSupport
import Testing

@Suite("The write-ahead log of a served file is removed, and another program writes", .mayBlock)
struct ReplacedLogTests {
  /// The process of the server is stopped meanwhile, because it would checkpoint a removed log at once.
  @Test("The removed log is kept as a file, and the other program's content is served")
  func keepsRemovedLog() throws {
    let server = try FaultServer(smallFixture)
    #expect(try server.client.save(#"{"update":"City","id":2,"values":{"name":"Tromsø"}}"#) == 200)
    let path = server.folder.file("store.sqlite")
    kill(server.process.processIdentifier, SIGSTOP)
    // Waits until all of its threads have stopped.
    var stopped = siginfo_t()
    #expect(waitid(P_PID, id_t(server.process.processIdentifier), &stopped, WSTOPPED) == 0)
    unlink(path + "-wal")
    unlink(path + "-shm")
    _ = try server.sql("UPDATE City SET name = 'Cusco' WHERE id = 1")
    kill(server.process.processIdentifier, SIGCONT)
    let isServed = try eventually(within: .seconds(300)) {
      let city = try server.client.get("/v1/objects/City/1")
      return city.status == 200 && city.json["name"]?.string == "Cusco"
    }
    #expect(isServed)
    #expect(try server.sql("PRAGMA integrity_check") == ["ok"])
    let orphan = try Data(contentsOf: URL(fileURLWithPath: path + "-wal-orphan"))
    #expect(orphan.range(of: Data("Tromsø".utf8)) != nil)
    #expect(try server.client.save(#"{"update":"City","id":3,"values":{"name":"Voss"}}"#) == 200)
    #expect(server.end() == 0)
  }
}
