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
      "Person.mood: the class `Mood` is not declared here: any JSON is taken",
      "Person.photo: external storage is not supported: values are kept in the store",
      "configuration Cloud: configurations have no meaning here",
    ] {
      #expect(remarks.contains(wanted), "\(remarks)")
    }
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
