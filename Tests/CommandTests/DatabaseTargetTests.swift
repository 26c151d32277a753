// The argument STORE: PostgreSQL databases and files, and names without credentials.

import Testing

@testable import LiveFetchCommand

@Suite("Addresses of PostgreSQL databases")
struct DatabaseTargetTests {
  @Test(
    "a URL and a list of keywords are databases, anything else is a file",
    arguments: [
      ("postgres://localhost/shop", true), ("postgresql:///shop", true),
      ("host=/run/postgresql dbname=shop", true), ("dbname=shop", true), ("shop.sqlite", false),
      ("password=x host=h", true), (" connect_timeout = 2 host=h", true), ("options", false),
      ("a=b.sqlite", false), ("host", false), ("/data/host=1.sqlite", false),
    ])
  func kinds(_ text: String, _ isDatabase: Bool) {
    #expect((DatabaseTarget(text) != nil) == isDatabase)
  }

  @Test(
    "a name contains no credentials",
    arguments: [
      (
        "postgres://me:secret@db.example:5432/shop?sslmode=require",
        "postgres://db.example:5432/shop"
      ),
      ("postgres://me:p@ss@db/shop", "postgres://db/shop"),
      ("postgres:///shop", "postgres:///shop"),
      ("postgres://me:pa/ss@db:5432/shop", "postgres://db:5432/shop"),
      ("postgres://me:pa?ss@db/shop", "postgres://"),
      ("postgres://db/shop?user=me@here&password=p@ss", "postgres://db/shop"),
      ("host=db password=secret dbname=shop", "host=db dbname=shop"),
      ("host=db password = secret dbname=shop", "host=db dbname=shop"),
      (#"host=db password='my \'se=cret pw' port=5432"#, "host=db port=5432"),
      ("host=db sslpassword=abc user=me", "host=db"), ("password=secret", "PostgreSQL"),
    ])
  func names(_ text: String, _ name: String) {
    #expect(DatabaseTarget(text)?.name == name)
  }
}
