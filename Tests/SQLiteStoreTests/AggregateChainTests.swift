// Aggregates over key paths of several steps.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

/// Aggregates over several steps: each object that the path before the operator reaches contributes
/// one value, which the path after the operator reads.
@Suite("Aggregates: each reached object contributes one value", .mayBlock)
struct AggregateChainTests {
  static let schema = """
    CREATE TABLE author(id INTEGER PRIMARY KEY, age INTEGER);
    CREATE TABLE blog(id INTEGER PRIMARY KEY);
    CREATE TABLE post(id INTEGER PRIMARY KEY, n INTEGER, blog_id INTEGER REFERENCES blog,
      author_id INTEGER REFERENCES author);
    CREATE TABLE tag(id INTEGER PRIMARY KEY);
    CREATE TABLE post_tag(post_id INTEGER REFERENCES post, tag_id INTEGER REFERENCES tag,
      PRIMARY KEY(post_id, tag_id));
    INSERT INTO author VALUES (1, 10), (2, 20), (3, NULL);
    INSERT INTO blog VALUES (1), (2);
    INSERT INTO post VALUES (1, 1, 1, 1), (2, 2, 1, 1), (3, 4, 1, 2), (4, 8, 1, NULL),
      (5, 16, 2, 3), (6, 32, 2, 1);
    INSERT INTO tag VALUES (1), (2);
    INSERT INTO post_tag VALUES (1, 1), (2, 1), (1, 2), (3, 2);
    """

  /// Predicate about blogs → ids.
  @Test(arguments: [
    ("post.author.@sum.age == 30", "1"), ("post.@sum.author.age == 40", "1"),
    ("post.author.@count == 2", "1 2"), ("post.@count == 4", "1"),
    ("post.author.@avg.age == 15", "1"), ("post.@avg.author.age == 15", ""),
    ("sum(post.author.age) == 30", "1"), ("count(post.author) == 2", "1 2"),
    ("post.author.@max.age == 20", "1"), ("post.@max.author.age == 10", "2"),
    ("ANY post.author.age == nil", "1 2"), ("post.author.age CONTAINS nil", "1 2"),
    ("post.tag.post.@sum.n == 7", "1"), ("post.tag.post.@count == 3", "1"),
    ("post.tag.post.author.@sum.age == 30", "1"), ("post.tag.post.@sum.author.age == 40", "1"),
    ("post.author.post.@sum.n == 39", "1"), ("post.author.post.@sum.n == 51", "2"),
    ("SUBQUERY(post, $p, $p.n < 3).author.@sum.age == 10", "1"),
    ("post.author.@distinctUnionOfObjects.age.@count == 2", "1"),
    ("post.author.@distinctUnionOfObjects.age.@sum == 30", "1"),
  ])
  func anObjectCountsOnceHoweverManyWaysLeadToIt(predicate: String, ids: String) throws {
    let fixture = try PredicateFixture(Self.schema)
    #expect(try fixture.ids(predicate, entity: "blog") == ids)
  }

  /// An id that is a number can be added like any other attribute.
  @Test(arguments: [
    ("post.@sum.id == 10", "1"), ("post.@avg.id == 2.5", "1"), ("post.@min.id == 5", "2"),
    ("post.@max.id == 4", "1"), ("post.author.@sum.id == 3", "1"),
    ("post.@sum.author.id == 4", "1 2"), ("post.tag.@sum.id == 3", "1"),
    ("post.@sum.author_id == 4", "1 2"), ("post.tag.post.@sum.id == 6", "1"),
    ("post.author.@avg.id == 1.5", "1"), ("post.author.@max.id == 3", "2"),
    ("post.author.@min.id == 1", "1 2"), ("sum(post.id) == 10", "1"), ("max(post.id) == 6", "2"),
    ("post.@distinctUnionOfObjects.id.@sum == 11", "2"),
    ("SUBQUERY(post, $p, $p.n < 3).@sum.id == 3", "1"),
    ("ANY post.tag.@sum.id == 3", "1"),
  ])
  func idsThatAreNumbersAreAdded(predicate: String, ids: String) throws {
    let fixture = try PredicateFixture(Self.schema)
    #expect(try fixture.ids(predicate, entity: "blog") == ids)
  }

  @Test(arguments: [
    ("post.@sum.author == 1", "`post.author`, objects", "`post.author.id` is the number of each"),
    ("post.author.@avg == 1", "`post.author`, objects", "`post.author.id` is the number of each"),
  ])
  func objectsAreNotAdded(predicate: String, found: String, hint: String) throws {
    let fixture = try PredicateFixture(Self.schema)
    let error = #expect(throws: PredicateError.self) {
      try fixture.ids(predicate, entity: "blog")
    }
    #expect(error?.found == found)
    #expect(error?.expected == "numbers")
    #expect(error?.hint == hint)
  }
}
