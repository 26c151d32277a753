// Objects whose stored values do not fit their class: fetches leave them out and report them.

/// Objects were left out of a fetch, because their stored values do not fit their class. Sent once
/// for each object and reason.
///
/// ```swift
/// let token = context.observe(DidFindUnreadableObjects.self) { found in
///   for error in found.errors { log(error) }
/// }
/// ```
public struct DidFindUnreadableObjects: ContextEvent, Sendable {
  /// In the order of the fetch.
  public let errors: [MaterializationError]
}

/// The type that an object could not be created as, and the object's id.
struct UnreadableKey: Hashable {
  let type: ObjectIdentifier
  let id: ObjectID
}

/// The readable elements of a read.
struct Readable<Element> {
  var elements: [Element] = []
  /// Why the first unreadable element could not be created.
  var problem: MaterializationError?
  /// The ids of the unreadable elements.
  var unread: Set<ObjectID> = []

  /// The items of the readable elements.
  func items(of all: [Item]) -> [Item] { all.filter { !unread.contains($0.id) } }

  /// The elements.
  ///
  /// - Throws: the problem if there are no elements.
  func orThrow() throws(ContextError) -> [Element] {
    if elements.isEmpty, let problem { throw .materialization(problem) }
    return elements
  }

  static func += (left: inout Self, right: Self) {
    left.elements += right.elements
    left.problem = left.problem ?? right.problem
    left.unread.formUnion(right.unread)
  }
}

extension ManagedObjectContext {
  /// The reasons why fetches of this context left out objects, in the order of entities and ids. An object is no
  /// longer listed once a fetch reads it. See ``DidFindUnreadableObjects``.
  public var unreadableObjects: [MaterializationError] {
    Set(unreadable.values).sorted { ($0.entity, $0.id) < ($1.entity, $1.id) }
  }

  /// Creates elements from items that were read at `readTime`. Leaves out and reports unreadable
  /// ones.
  func readable<Element>(
    _ items: [Item], of type: Any.Type, asOf readTime: ReadTime,
    _ create: (Item) throws(MaterializationError) -> Element
  ) -> Readable<Element> {
    currentReading = readTime
    root.recordReading(readTime.token)
    makeRoom(for: items.count)
    var read = Readable<Element>()
    read.elements.reserveCapacity(items.count)
    var problems: [(id: ObjectID, error: MaterializationError)] = []
    for item in items {
      do throws(MaterializationError) {
        read.elements.append(try create(item))
        if !unreadable.isEmpty {
          unreadable[UnreadableKey(type: ObjectIdentifier(type), id: item.id)] = nil
        }
      } catch {
        read.problem = read.problem ?? error
        read.unread.insert(item.id)
        problems.append((item.id, error))
      }
    }
    endMaterializing()
    report(problems, of: type)
    return read
  }

  /// The elements that were decoded. Reports the unreadable ones.
  func readable<Element>(_ values: DecodedValues<Element>) -> Readable<Element> {
    for id in unreadable.isEmpty ? [] : values.ids {
      unreadable[UnreadableKey(type: ObjectIdentifier(Element.self), id: id)] = nil
    }
    report(values.problems.map { ($0.id, $0) }, of: Element.self)
    return Readable(
      elements: values.elements, problem: values.problems.first,
      unread: Set(values.problems.map(\.id)))
  }

  private func report(
    _ problems: [(id: ObjectID, error: MaterializationError)], of type: Any.Type
  ) {
    let new = problems.filter { id, error in
      let key = UnreadableKey(type: ObjectIdentifier(type), id: id)
      return unreadable.updateValue(error, forKey: key) != error
    }
    if !new.isEmpty { observers.notify(DidFindUnreadableObjects(errors: new.map(\.error))) }
  }
}
