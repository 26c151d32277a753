// Entities declared once, by the macro of the package's trait `Macros`.

import Foundation
import LiveFetch
import Testing

@Entity final class Shelf: ManagedObject, ManagedObjectType {
  var title = ""
  var books: ToManyProxy<Book>
  @Transient var isOpen = false
  @ManagedDerived(Key.bookCount, from: "books.@count") var bookCount: Int?
}

@Entity final class Book: ManagedObject, ManagedObjectType {
  var title = ""
  var `default`: Bool = false
  var printed: Date?
  var shelf: Fault<Shelf>?

  var isNew: Bool { printed == nil }
}

@Entity("Book") struct BookRow: Codable, Fetchable, Identifiable {
  let id: Int
  var title: String
  var printed: Date?
  @Transient var isMarked = true
}

@Entity("Book") struct BookTitle: Codable, Fetchable, Identifiable {
  let id: Int
  var text: String
  var cover = "plain"

  enum CodingKeys: String, CodingKey {
    case id
    case text = "title"
  }
}

@Entity("Book") struct ShelvedBook: Codable, Fetchable, Identifiable {
  let id: Int
  var title: String
  var shelf: String?

  enum CodingKeys: String, CodingKey {
    case id, title
    case shelf = "shelf.title"
  }
}

/// The example of the manual, word for word: ManualSwiftTests of the library compares it.
enum ManualEntities {
  @Entity final class Item: ManagedObject, ManagedObjectType {
    var title = ""
    var done = false
    var list: Fault<List>?
  }

  @Entity("Item") struct ItemRow: Codable, Fetchable, Identifiable {
    let id: Int
    var title: String
    @Transient var isMarked = false
  }

  @Entity final class List: ManagedObject, ManagedObjectType {
    var title = ""
    var items: ToManyProxy<Item>
  }
}

struct `An entity that is declared once` {
  @Test func `is the one of the manual, within another type`() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [ManualEntities.List.self]))
    let context = ManagedObjectContext(store: store)
    let item: ManualEntities.Item = context.insertObject()
    item.title = "Tea"
    try await context.save()
    let rows = try await context.fetch(FetchRequest<ManualEntities.ItemRow>())
    #expect(rows.map(\.title) == ["Tea"])
    #expect(rows.map(\.isMarked) == [false])
  }

  @Test func `has the names of CodingKeys if a structure declares them`() async throws {
    #expect(BookTitle.Key.allCases.map(\.rawValue) == ["id", "title"])
    #expect(BookTitle.predicateKeyPaths == [\BookTitle.id: "id", \BookTitle.text: "title"])
    let store = try LocalStore.inMemory(ModelFile(of: [Shelf.self]))
    let context = ManagedObjectContext(store: store)
    for title in ["Leaves", "Howl"] {
      let book: Book = context.insertObject()
      book.title = title
    }
    try await context.save()
    let request = try FetchRequest(where: #Predicate<BookTitle> { $0.text == "Howl" })
    let found = try await ManagedObjectContext(store: store).fetch(request)
    #expect(found.map(\.text) == ["Howl"])
  }

  @Test func `selects its keys if one of them is a key path to a related object`() async throws {
    #expect(ShelvedBook.propertiesToFetch == ["title", "shelf.title"])
    #expect(BookTitle.propertiesToFetch == nil)
    let store = try LocalStore.inMemory(ModelFile(of: [Shelf.self]))
    let context = ManagedObjectContext(store: store)
    let shelf: Shelf = context.insertObject()
    shelf.title = "Poems"
    let book: Book = context.insertObject()
    book.title = "Leaves"
    book.shelf = Fault(shelf)
    try await context.save()
    let request = try FetchRequest(where: #Predicate<ShelvedBook> { $0.title == "Leaves" })
    let found = try await ManagedObjectContext(store: store).fetch(request)
    #expect(found.map(\.shelf) == ["Poems"])
  }

  @Test func `declares its attributes also as a structure`() async throws {
    let model = try ModelFile(of: [BookRow.self])
    #expect(model.entities[0].attributes.map(\.name) == ["printed", "title"])
    #expect(model.entities[0].attributes.map(\.isOptional) == [true, false])
    #expect(try ModelFile(of: [Shelf.self]).differences(from: [BookRow.self]) == [])
    let store = try LocalStore.inMemory(model)
    let found = try await ManagedObjectContext(store: store).fetch(FetchRequest<BookRow>())
    #expect(found.isEmpty)
  }

  @Test func `has its name, keys and key paths from the properties`() {
    #expect(Book.entityName == "Book")
    #expect(Book.Key.allCases.map(\.rawValue) == ["title", "default", "printed", "shelf"])
    #expect(Shelf.Key.allCases.map(\.rawValue) == ["title", "books", "bookCount"])
    #expect(BookRow.entityName == "Book")
    #expect(BookRow.Key.allCases.map(\.rawValue) == ["id", "title", "printed"])
    #expect(BookRow.predicateKeyPaths[\BookRow.title] == "title")
  }

  @Test func `declares a model, and is saved, fetched and followed`() async throws {
    let model = try ModelFile(of: [Shelf.self])
    #expect(model.entities.map(\.name) == ["Shelf", "Book"])
    #expect(model.entities[1].relationships.first?.inverse == "books")
    let store = try LocalStore.inMemory(model)
    let context = ManagedObjectContext(store: store)
    let shelf: Shelf = context.insertObject()
    shelf.title = "Poems"
    let book: Book = context.insertObject()
    book.title = "Leaves"
    book.shelf = Fault(shelf)
    try await context.save()
    #expect(book.isNew)
    let request = FetchRequest<BookRow>(
      where: try FetchPredicate(#Predicate<BookRow> { $0.title == "Leaves" }))
    var rows: [BookRow] = []
    for try await snapshot in store.live(request) {
      rows = snapshot.elements
      break
    }
    #expect(rows.map(\.title) == ["Leaves"])
    #expect(rows.map(\.isMarked) == [true])
    let other = ManagedObjectContext(store: store)
    let found = try await other.fetch(
      Shelf.sortedFetchRequest(where: "%K == 1", Shelf.Key.bookCount))
    #expect(found.first?.bookCount == 1)
    #expect(try await found.first?.books.materialize().map(\.title) == ["Leaves"])
  }
}
