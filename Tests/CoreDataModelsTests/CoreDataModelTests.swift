// Core Data's model documents → model files, and the parts that are not supported.

import CoreDataModels
import FetchModel
import Testing

@Suite("Core Data model files")
struct CoreDataModelTests {
  static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" userDefinedModelVersionIdentifier="v2">
        <entity name="Person" representedClassName="Person" isAbstract="YES" syncable="YES" codeGenerationType="class">
            <attribute name="id" attributeType="UUID" usesScalarValueType="NO"/>
            <attribute name="name" optional="YES" attributeType="String" minValueString="1" maxValueString="40" defaultValueString="A &amp; B" regularExpressionString="[A-Z].*"/>
            <attribute name="age" attributeType="Integer 16" minValueString="0" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="born" optional="YES" attributeType="Date" defaultDateTimeInterval="0" usesScalarValueType="NO"/>
            <attribute name="photo" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            <attribute name="search" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(name)"/>
            <attribute name="mood" optional="YES" attributeType="Transformable" valueTransformerName="NSSecureUnarchiveFromData" customClassName="Mood"/>
            <attribute name="place" optional="YES" attributeType="Composite"/>
            <fetchIndex name="byName"><fetchIndexElement property="name" type="Binary" order="descending"/></fetchIndex>
            <uniquenessConstraints><uniquenessConstraint><constraint value="id"/></uniquenessConstraint></uniquenessConstraints>
            <userInfo><entry key="a" value="b"/></userInfo>
        </entity>
        <entity name="Hero" parentEntity="Person" elementID="Champion">
            <relationship name="teams" optional="YES" toMany="YES" deletionRule="Nullify" ordered="YES" destinationEntity="Team" inverseName="heroes" inverseEntity="Team"/>
        </entity>
        <entity name="Team">
            <relationship name="heroes" optional="YES" toMany="YES" minCount="1" maxCount="9" deletionRule="Deny" destinationEntity="Hero" inverseName="teams" inverseEntity="Hero"/>
        </entity>
        <fetchRequest name="adults" entity="Person" predicateString="age &gt; $AGE" fetchLimit="10"/>
        <configuration name="Cloud"><memberEntity name="Team"/></configuration>
        <elements><element name="Person" positionX="0"/></elements>
    </model>
    """

  @Test func everySupportedPartIsRead() throws {
    let read = try CoreDataModel(contents: Array(Self.contents.utf8))
    let wanted = """
      {"version":"v2","entities":[
      {"name":"Person","abstract":true,"attributes":[
        {"name":"id_","type":"UUID","optional":false},
        {"name":"name","type":"String","default":"A & B","minimumLength":1,"maximumLength":40,"regex":"[A-Z].*"},
        {"name":"age","type":"Integer 16","optional":false,"default":0,"minimum":0},
        {"name":"born","type":"Date","default":"2001-01-01T00:00:00Z"},
        {"name":"photo","type":"Binary"},
        {"name":"search","type":"String","derivation":"canonical:(name)"},
        {"name":"mood","type":"Transformable"}],
       "fetchIndexes":[{"name":"byName","elements":[{"property":"name","descending":true}]}],
       "uniquenessConstraints":[["id_"]]},
      {"name":"Hero","parent":"Person","renamingIdentifier":"Champion","relationships":[
        {"name":"teams","destination":"Team","toMany":true,"ordered":true,"inverse":"heroes"}]},
      {"name":"Team","relationships":[
        {"name":"heroes","destination":"Hero","toMany":true,"inverse":"teams","deleteRule":"Deny","minimumCount":1,"maximumCount":9}]}],
      "fetchTemplates":[{"name":"adults","entity":"Person","predicate":"age > $AGE","limit":10}]}
      """
    #expect(
      String(decoding: read.model.text, as: UTF8.self)
        == String(decoding: try ModelFile(parsing: Array(wanted.utf8)).text, as: UTF8.self))
  }

  @Test func unsupportedPartsAreReported() throws {
    let remarks = try CoreDataModel(contents: Array(Self.contents.utf8)).remarks
      .map(\.description)
    for wanted in [
      "Person.place: composite attributes are not supported: left out",
      "Person.id: is called `id_` here",
      "Person: user info has no meaning here",
      "Person.mood: the class `Mood` is not declared here: any JSON is accepted",
      "Person.photo: external storage is not supported: values are kept in the store",
      "configuration Cloud: configurations have no meaning here",
    ] {
      #expect(remarks.contains(wanted), "\(remarks)")
    }
  }

  @Test func aReferenceMayPrecedeACombiningMark() throws {
    let read = try Self.read(
      #"<entity name="A"><attribute name="t" attributeType="String" defaultValueString="x&quot;&#x301;&amp;"#
        + "\u{301}" + #"y"/></entity>"#)
    let text = String(decoding: read.model.text, as: UTF8.self)
    #expect(text.utf8.contains(Array("x\\\"\u{301}&\u{301}y".utf8)), "\(text)")
  }

  private static func read(_ parts: String) throws -> CoreDataModel {
    try CoreDataModel(contents: Array("<model>\(parts)</model>".utf8))
  }

  /// The remarks about an attribute `a` of the entity `E`.
  private static func remarks(_ attribute: String) throws -> [String] {
    try read(#"<entity name="E"><attribute name="a" optional="YES" \#(attribute)/></entity>"#)
      .remarks.map(\.description)
  }

  @Test func predicatesAndDerivationsHaveTheNewNamesOfProperties() throws {
    let read = try Self.read(
      """
      <entity name="Country"><attribute name="id" attributeType="String"/>
        <relationship name="cities" optional="YES" toMany="YES" deletionRule="Nullify" \
          destinationEntity="City" inverseName="country"/></entity>
      <entity name="City"><attribute name="id" attributeType="String"/>
        <attribute name="upper" optional="YES" attributeType="String" derived="YES" \
          derivationExpression="uppercase:(id)"/>
        <attribute name="code" optional="YES" attributeType="String" derived="YES" \
          derivationExpression="country.id"/>
        <relationship name="country" optional="YES" deletionRule="Nullify" \
          destinationEntity="Country" inverseName="cities"/></entity>
      <fetchRequest name="one" entity="City" \
        predicateString="country.id == $id AND #id ==[c] 'id' AND \
      SUBQUERY(country.cities, $x, $x.id == &quot;5&quot;).@count &gt; 0"/>
      """)
    let city = try #require(read.model.entity(named: "City"))
    #expect(city.attributes.map { $0.derivation?.text } == [nil, "uppercase:(id_)", "country.id_"])
    let predicate =
      "country.id_ == $id AND #id_ ==[c] 'id' AND "
      + "SUBQUERY(country.cities, $x, $x.id_ == \"5\").@count > 0"
    #expect(read.model.fetchTemplates.map(\.predicate) == [predicate])
    #expect(
      read.remarks.map(\.description) == [
        "Country.id: is called `id_` here", "City.id: is called `id_` here",
        "City.upper: the derivation is `uppercase:(id_)` here",
        "City.code: the derivation is `country.id_` here",
        "fetch request one: the predicate is `\(predicate)` here",
      ])
  }

  @Test func accessRulesThatAreNotWrittenAreReported() throws {
    let text = """
      {"access":{"default":false},"entities":[{"name":"Note","access":{"read":"owner == $user.id"},
        "attributes":[{"name":"owner","type":"String","readOnly":true},
          {"name":"salary","type":"Double","hidden":true}]}]}
      """
    let remarks = CoreDataContents(try ModelFile(parsing: Array(text.utf8))).remarks
    #expect(
      remarks.map { $0.description.split(separator: ":")[0] } == [
        "access", "entities/Note/access", "entities/Note/attributes/owner/readOnly",
        "entities/Note/attributes/salary/hidden",
      ])
    #expect(
      remarks.allSatisfy { $0.description.contains("Core Data has no access rules: left out") })
  }

  @Test func aPredicateKeepsNamesThatNoPropertyHas() throws {
    let read = try Self.read(
      """
      <entity name="E"><attribute name="a" attributeType="String"/></entity>
      <fetchRequest name="all" entity="E" predicateString="entity != nil AND self != a"/>
      """)
    #expect(read.model.fetchTemplates.map(\.predicate) == ["entity != nil AND self != a"])
    #expect(read.remarks.isEmpty)
  }

  @Test(arguments: [
    (#"attributeType="Binary" defaultValueString="AAEC""#, ["`defaultValueString` (AAEC)"]),
    (
      #"attributeType="Integer 16" defaultValueString="abc" maxValueString="inf""#,
      ["`defaultValueString` (abc)", "`maxValueString` (inf)"]
    ),
    (#"attributeType="Boolean" defaultValueString="maybe""#, ["`defaultValueString` (maybe)"]),
    (#"attributeType="String" maxValueString="-1""#, ["`maxValueString` (-1)"]),
    (#"attributeType="Date" minDateTimeInterval="nan""#, ["`minDateTimeInterval` (nan)"]),
    (#"attributeType="UUID" defaultValueString="5""#, ["`defaultValueString` (5)"]),
  ])
  func valuesThatCannotBeReadAreReported(attribute: String, names: [String]) throws {
    #expect(try Self.remarks(attribute) == names.map { "E.a: \($0) is not valid: left out" })
  }

  @Test(arguments: [
    (
      #"attributeType="String" valueTransformerName="T""#,
      "E.a: `valueTransformerName` (T) is not supported"
    ),
    (
      #"attributeType="String" defaultDateTimeInterval="0""#,
      "E.a: `defaultDateTimeInterval` (0) is not supported"
    ),
    (
      #"attributeType="String" derivationExpression="b""#,
      "E.a: the derivation `b` is not supported"
    ),
  ])
  func attributesThatDoNotConcernTheTypeAreReported(attribute: String, remark: String) throws {
    #expect(try Self.remarks(attribute) == [remark])
  }

  @Test func numbersKeepTheirDigits() throws {
    let read = try Self.read(
      """
      <entity name="E">
        <attribute name="a" attributeType="Integer 16" defaultValueString="007"/>
        <attribute name="b" attributeType="Decimal" defaultValueString="1.50"/>
        <attribute name="c" attributeType="Double" defaultValueString=".5"/></entity>
      """)
    #expect(
      read.model.entities[0].attributes.map(\.defaultValue)
        == [.number("7"), .number("1.50"), .number("0.5")])
    #expect(read.remarks.isEmpty)
  }

  @Test func unknownPartsOfIndexesConstraintsAndTemplatesAreReported() throws {
    let read = try Self.read(
      """
      <entity name="E"><attribute name="a" attributeType="String"/>
        <fetchIndex name="byA" speed="1"><fetchIndexElement property="a" collation="x"/>
          <userInfo/></fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="a"/><userInfo/>
          </uniquenessConstraint></uniquenessConstraints>
        <relationship name="r" optional="YES" toMany="YES" minCount="x" deletionRule="Weird" \
          destinationEntity="E"/></entity>
      <fetchRequest name="all" entity="E" fetchLimit="-3"><userInfo/></fetchRequest>
      """)
    #expect(
      read.remarks.map(\.description) == [
        "E, index byA: `collation` (x) is not supported",
        "E, index byA: user info has no meaning here",
        "E, index byA: `speed` (1) is not supported",
        "E, uniqueness constraints: user info has no meaning here",
        "E.r: `deletionRule` (Weird) is not valid: left out",
        "E.r: `minCount` (x) is not valid: left out",
        "fetch request all: `fetchLimit` (-3) is not valid: left out",
        "fetch request all: user info has no meaning here",
      ])
    #expect(read.model.entities[0].relationships[0].deleteRule == .nullify)
  }

  @Test(arguments: [
    ("<model><entity></model>", "line 1: `entity` is not closed"),
    ("<model>\n<entity name=\"A/></model>", "line 2: the value of `name` does not end"),
    ("<a/>", "the root is `a`, not `model`"), ("", "line 1: expected an element"),
    ("<!DOCTYPE x><model/>", "line 1: document types are not read"),
    ("<model/>", "entities: a model has at least one"),
    (
      "<model><entity name=\"A\" parentEntity=\"B\"/></model>",
      "entities/A/parent: there is no entity `B`"
    ),
  ])
  func invalidModelsAreRefused(_ text: String, _ problem: String) {
    do throws(ModelFileError) {
      _ = try CoreDataModel(contents: Array(text.utf8))
      Issue.record("was read")
    } catch {
      #expect(error.problems.map(\.description).contains(problem), "\(error)")
    }
  }
}
