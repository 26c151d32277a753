import FetchModel
import Testing

@testable import SQLiteStore

/// Aggregates over several steps: each object that the path before the operator reaches counts
/// once and gives the one value that the path behind the operator reads.
@Suite("Aggregates: each object reached gives one value")
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
}
