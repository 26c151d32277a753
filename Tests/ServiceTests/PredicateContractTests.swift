// Predicates over a file: the ids found, or the code, offset and hint of the refusal.

import Foundation
import TestSupport
import Testing

@Suite("Predicates over a file", .mayBlock)
struct PredicateContractTests {
  @Test(.onlyForFiles) func everyOperatorMeetsNilAndNegation() throws {
    let table: [(String, [Int])] = [
      ("name!='Lima'", [2, 3, 4]), ("NOT name=='Lima'", [2, 3, 4]),
      ("population==nil", [2]), ("population<=nil", [2]), ("population>=nil", [2]),
      ("population<nil", []), ("NOT population<nil", [1, 2, 3, 4]), ("nil==nil", [1, 2, 3, 4]),
      ("population BETWEEN {0,nil}", []), ("NOT population BETWEEN {0,5}", [1, 2, 3]),
      ("population IN {nil,0}", [2, 4]), ("NOT population IN {0}", [1, 2, 3]),
      ("population IN {}", []), ("NOT population IN {}", [1, 2, 3, 4]),
      ("name CONTAINS ''", []), ("NOT name CONTAINS ''", [1, 2, 3, 4]),
      ("population == TERNARY(1 == 1, nil, 5)", [2]), ("name == TERNARY(1 == 2, 5, nil)", []),
      ("TERNARY(1 == 1, nil, 5) + 1 == population", [2]),
      ("name BEGINSWITH ''", []), ("name ENDSWITH ''", []), ("name LIKE ''", [4]),
      ("name LIKE '*'", [1, 2, 3, 4]), ("NOT name CONTAINS nil", [1, 2, 3, 4]),
      ("name ==[c] 'LIMA'", [1, 2]), ("name ==[cd] 'unix'", [3]), ("name ==[d] 'Unix'", [3]),
      ("name BEGINSWITH[c] 'LI'", [1, 2]), ("name IN 'xLimax'", [1]),
      ("country.name=='Peru'", [1]), ("NOT country.name BEGINSWITH 'P'", [2, 3, 4]),
      ("country.name!='Peru'", [2, 3, 4]), ("country.name==nil", [2, 3]), ("country==nil", [2]),
      ("country==99", [3]), ("country!=1", [2, 3, 4]), ("country_id==1", [1]),
      ("ANY tag.word=='alpha'", [1]), ("NOT ANY tag.word=='alpha'", [2, 3, 4]),
      ("ALL tag.word=='alpha'", [2, 3]), ("NOT ALL tag.word=='alpha'", [1, 4]),
      ("NONE tag.word=='alpha'", [2, 3, 4]), ("SOME tag.word BEGINSWITH 'a'", [1]),
      ("ANY tag.word==nil", []), ("ALL tag.word==nil", [2, 3]), ("ANY tag IN {'a'}", [1]),
      ("tag.@count==0", [2, 3]), ("NOT tag.@count>1", [2, 3, 4]), ("SELF IN {1,2}", [1, 2]),
      ("SELF==nil", []), ("capital==YES", [1]), ("capital!=NO", [1, 3, 4]),
      ("population==9007199254740993", [1]), ("population==9007199254740992", []),
      ("population==99999999999999999999", []), ("population==-0", [4]),
      ("population==0x0", [4]), ("area>1e308", [2, 3]), ("pic=='AAH/'", [1]),
      ("founded=='2020-01-02T03:04:05Z'", [1]), ("twice==0", [3, 4]),
      ("FALSEPREDICATE OR TRUEPREDICATE AND FALSEPREDICATE", []), ("!TRUEPREDICATE", []),
      ("population => 0 && population =< 0", [4]), ("name <> '' || name == ''", [1, 2, 3, 4]),
    ]
    let file = try ServedFile(readingFixture)
    for (predicate, ids) in table {
      let answer = try file.ask(Self.target(predicate))
      let list = ids.map(String.init).joined(separator: ",")
      #expect(answer.text.contains("\"items\":[\(list)]"), "\(predicate): \(answer.text)")
    }
  }

  @Test func aUUIDStoredAsBytesIsFoundByItsText() throws {
    let file = try ServedFile(readingFixture)
    let answer = try file.ask(Self.target("uid=='550E8400-E29B-41D4-A716-446655440000'"))
    #expect(answer.text.contains("\"items\":[1]"))
  }

  @Test func aRefusalNamesThePlaceAndTheNearestName() throws {
    let table: [(String, String, Int, String?)] = [
      ("nme=='x'", "unknown-key-path", 0, "name"),
      ("contry.name=='x'", "unknown-key-path", 0, "country"),
      ("country.nam=='x'", "unknown-key-path", 8, "name"),
      ("'é'==nme", "unknown-key-path", 6, "name"),
      ("name==5", "type-mismatch", 6, "`name` is text"),
      ("population=='5'", "type-mismatch", 12, "`population` is a number"),
      ("founded=='foo'", "type-mismatch", 9, "`founded` is a date"),
      ("country=='x'", "type-mismatch", 9, "`country` is an object's id"),
      ("uid=='x'", "type-mismatch", 5, "`uid` is a UUID"),
      (
        "uid IN {'550E8400-E29B-41D4-A716-446655440000','x'}", "type-mismatch", 47,
        "`uid` is a UUID"
      ),
      ("population BETWEEN {1}", "type-mismatch", 19, nil),
      ("name=='x", "syntax-error", 6, nil), ("name==", "syntax-error", 6, nil),
      ("(name=='x'", "syntax-error", 10, nil), ("name=='x')", "syntax-error", 9, nil),
      ("name ==[x] 'a'", "syntax-error", 8, nil), ("name==%@", "missing-argument", 6, nil),
      ("name==$x", "missing-variable", 6, nil),
      ("ANY name=='x'", "quantifier-without-to-many", 4, nil),
      (
        "tag.word=='x'", "to-many-without-quantifier", 0,
        "put ANY, ALL or NONE before it, or an aggregate like `@count` after it"
      ),
    ]
    let file = try ServedFile(readingFixture)
    for (predicate, code, offset, hint) in table {
      let answer = try file.ask(Self.target(predicate))
      #expect(answer.status == 400, "\(predicate)")
      #expect(answer.code == code, "\(predicate)")
      #expect(answer.json["offset"]?.integer == Int64(offset), "\(predicate)")
      #expect(answer.json["hint"]?.string == hint, "\(predicate)")
    }
  }

  @Test func anIntegerNextToADoubleIsADouble() throws {
    let file = try ServedFile(readingFixture)
    for values in ["5,2.0", "2.0,5", "area,5", "5,area"] {
      let predicate = "TERNARY(id==id,\(values))/2==2.5 OR TERNARY(id!=id,\(values))/2==2.5"
      let answer = try file.ask(Self.target(predicate))
      #expect(answer.text.contains(#""items":[1,2,3,4]"#), "\(values): \(answer.text)")
    }
    let integers = try file.ask(Self.target("TERNARY(id==id,5,2)/2==2"))
    #expect(integers.text.contains(#""items":[1,2,3,4]"#), "\(integers.text)")
  }

  @Test func argumentsAndVariablesTakeTheTypeTheyAreComparedWith() throws {
    let table: [(String, String, String)] = [
      ("name==%@", "&arg=Lima", "\"items\":[1]"), ("name==%@", "&arg=nil", "\"items\":[]"),
      ("population==%@", "&arg=0", "\"items\":[4]"), ("capital==%@", "&arg=true", "\"items\":[1]"),
      ("country==%@", "&arg=1", "\"items\":[1]"), ("%K==%@", "&arg=name&arg=Lima", "\"items\":[1]"),
      ("name==$n", "&var.n=Lima", "\"items\":[1]"),
      ("%@ IN name", "&arg=im", "\"items\":[1,2]"),
      ("area==%@", "&arg=1e400", "\"items\":[2]"), ("area==$x", "&var.x=-1e400", "\"items\":[4]"),
      ("area==%@", "&arg=inf", "type-mismatch"), ("area==%@", "&arg=nan", "type-mismatch"),
      ("population==%@", "&arg=zero", "type-mismatch"), ("%K==1", "&arg=nam", "unknown-key-path"),
      ("name==%@", "&arg=a&arg=b", "unused-argument"), ("id==1", "&var.n=x", "unused-variable"),
    ]
    let file = try ServedFile(readingFixture)
    for (predicate, rest, expected) in table {
      let answer = try file.ask(Self.target(predicate) + rest)
      #expect(answer.text.contains(expected), "\(predicate)\(rest): \(answer.text)")
    }
  }

  @Test("with int64=string an argument may be the string of an integer")
  func stringsOfIntegers() throws {
    let file = try ServedFile(readingFixture)
    func answer(_ members: String) throws -> Answer {
      try file.ask(
        "POST", "/v1/fetch",
        body: #"{"entity":"city","arguments":["9007199254740993"],\#(members)}"#)
    }
    let ids = #""as":"ids","where":"population == %@""#
    #expect(try answer(ids).code == "type-mismatch")
    #expect(try answer(#"\#(ids),"int64":"string""#).text.contains(#""items":[1]}"#))
    let dictionaries = try answer(
      #""as":"dictionaries","where":"id == 1","group":["name"],"select":["n:@max.population"],"#
        + #""having":"n == %@","int64":"string""#)
    #expect(dictionaries.text.contains(#""items":[{"n":"9007199254740993"}]}"#))
  }

  @Test func aPredicatePastItsLimitsIsRefused() throws {
    let file = try ServedFile(readingFixture)
    func code(_ predicate: String) throws -> String? {
      let body = #"{"entity":"city","as":"ids","where":"\#(predicate)"}"#
      return try file.ask("POST", "/v1/fetch", body: body).code
    }
    let chain = Array(repeating: "id==1", count: 1000)
    #expect(try code(chain.joined(separator: " OR ")) == nil)
    #expect(try code((chain + ["id==1"]).joined(separator: " OR ")) == "predicate-too-complex")
    let list = (1...10_000).map(String.init).joined(separator: ",")
    #expect(try code("id IN {\(list)}") == nil)
    #expect(try code("id IN {\(list),1}") == "predicate-too-complex")
    let long = String(repeating: "x", count: 65_536)
    #expect(try code("name=='\(long)'") == "predicate-too-long")
  }

  private static func target(_ predicate: String) -> String {
    let text = predicate.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return "/v1/objects/city?as=ids&where=\(text)"
  }
}
