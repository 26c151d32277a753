// Every parameter in the query string and in the body of `POST /v1/fetch`.

import FetchModel
import Foundation
import Service
import TestSupport
import Testing

@Suite("POST /v1/fetch equals the query string", .mayBlock)
struct FetchParityTests {
  struct Pair: Sendable {
    let query: String
    /// The members in addition to `"entity":"city"`.
    let body: String

    init(_ query: String, _ body: String) {
      self.query = query
      self.body = body
    }
  }

  static let served: [Pair] = [
    Pair("where=population > 10", #""where":"population > 10""#),
    Pair(
      "where=name IN {%@, %@} AND population > %d&arg=Tokyo&arg=Lima&arg=8",
      #""where":"name IN {%@, %@} AND population > %d","arguments":["Tokyo","Lima",8]"#),
    Pair("where=%K == %@&arg=name&arg=Lima", #""where":"%K == %@","arguments":["name","Lima"]"#),
    Pair(
      "where=population > $n AND capital == $c&var.n=5&var.c=true",
      #""where":"population > $n AND capital == $c","variables":{"n":5,"c":true}"#),
    Pair("sort=-population,name:cd:nullslast", #""sort":["-population","name:cd:nullslast"]"#),
    Pair("sort=-population,name", #""sort":"-population,name""#),
    Pair("section=-country.name&sort=name", #""section":"-country.name","sort":["name"]"#),
    Pair("section=founded:year", #""section":"founded:year""#),
    Pair("limit=2&offset=1", #""limit":2,"offset":1"#),
    Pair("limit=0", #""limit":0"#),
    Pair("select=name,country.name,@etag", #""select":["name","country.name","@etag"]"#),
    Pair("select=", #""select":[]"#),
    Pair("select=name&expand=country", #""select":["name"],"expand":["country"]"#),
    Pair("as=ids&digest=true", #""as":"ids","digest":true"#),
    Pair("as=count", #""as":"count""#),
    Pair("count=exact&limit=1", #""count":"exact","limit":1"#),
    Pair("subentities=false", #""subentities":false"#),
    Pair("int64=string&where=id < 3", #""int64":"string","where":"id < 3""#),
    Pair("distinct=false&explain=false", #""distinct":false,"explain":false"#),
    Pair(
      "as=dictionaries&select=c:country.name,n:@count,x:add:to:(@max.population, 1)&group=c"
        + "&having=n >= $n&var.n=1&sort=-n,c&limit=9&offset=0&count=exact",
      #""as":"dictionaries","select":["c:country.name","n:@count","x:add:to:(@max.population, 1)"],"#
        + #""group":["c"],"having":"n >= $n","variables":{"n":1},"sort":["-n","c"],"limit":9,"#
        + #""offset":0,"count":"exact""#),
    Pair(
      "as=dictionaries&select=population&distinct=true&where=id < %@&arg=5",
      #""as":"dictionaries","select":"population","distinct":true,"where":"id < %@","#
        + #""arguments":[5]"#),
    Pair(
      "explain=true&as=ids&where=population == 9",
      #""explain":true,"as":"ids","where":"population == 9""#),
    Pair("since=now&wait=0&as=ids", #""since":"now","wait":0,"as":"ids""#),
  ]

  static let refused: [Pair] = [
    Pair(
      "as=dictionaries&select=population&distinct=true&where=id < %@&having=&arg=5",
      #""as":"dictionaries","select":["population"],"distinct":true,"where":"id < %@","#
        + #""having":"","arguments":[5]"#),
    Pair("limit=-1", #""limit":-1"#), Pair("where=nope == 1", #""where":"nope == 1""#),
    Pair("sort=nope", #""sort":["nope"]"#), Pair("as=all", #""as":"all""#),
    Pair("wait=99&since=now", #""wait":99,"since":"now""#), Pair("after=x", #""after":"x""#),
    Pair("group=name", #""group":["name"]"#), Pair("since=x", #""since":"x""#),
    Pair("nope=1", #""nope":1"#), Pair("int64=number", #""int64":"number""#),
  ]

  @Test func bothSayTheSame() throws {
    var configuration = ServiceConfiguration()
    configuration.explains = true
    let file = try ServedFile(dictionariesFixture, configuration: configuration)
    for (pairs, status) in [(Self.served, 200), (Self.refused, 400)] {
      for pair in pairs {
        let query = DictionariesContractTests.encoded(pair.query)
        let asked = try file.ask("/v1/objects/city?\(query)")
        let posted = try file.ask(
          "POST", "/v1/fetch", body: #"{"entity":"city",\#(pair.body)}"#)
        #expect(asked.status == status, "\(pair.query): \(asked.text)")
        #expect(posted.status == status, "\(pair.query): \(posted.text)")
        #expect(asked.text == posted.text, "\(pair.query)")
      }
    }
  }

  @Test func aCursorAndATokenGoOnInTheOtherForm() throws {
    let file = try ServedFile(dictionariesFixture)
    let first = try file.ask(
      "POST", "/v1/fetch", body: #"{"entity":"city","sort":["name"],"limit":2}"#)
    let next = try #require(first.json["next"]?.string)
    let token = try #require(first.json["token"]?.string)
    let asked = try file.ask("/v1/objects/city?sort=name&limit=2&after=\(next)")
    let posted = try file.ask(
      "POST", "/v1/fetch",
      body: #"{"entity":"city","sort":["name"],"limit":2,"after":"\#(next)"}"#)
    #expect(asked.text == posted.text)
    #expect(asked.json["count"]?.integer == 2)
    try file.runExternally("UPDATE city SET name = 'A' WHERE id = 1")
    try file.settle()
    let diff = try file.ask("/v1/objects/city?sort=name&limit=2&wait=0&since=\(token)")
    let postedDiff = try file.ask(
      "POST", "/v1/fetch",
      body: #"{"entity":"city","sort":["name"],"limit":2,"wait":0,"since":"\#(token)"}"#)
    #expect(diff.text == postedDiff.text)
    #expect(diff.text.contains(#""inserted":[{"to":"#))
  }
}
