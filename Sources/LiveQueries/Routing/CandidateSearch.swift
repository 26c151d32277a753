// One moment's touches → the live queries that it may change, each once.
//
// Values are read of the touched objects alone, before and after, two queries of the store for each
// entity touched; what follows are lookups. Where the store cannot tell values, every query that
// looks at something touched is a candidate; so it is where the store fails, and each query that asks
// it hears why. A query that was looked up by its own objects alone has to ask of these alone.

import FetchModel

/// The search for the queries that one moment may change.
struct CandidateSearch {
  /// Beyond this many objects, conditions that have no anchor are not tested over them.
  private static let maxTested = 64
  /// Beyond this many objects that reach a touched one, they are not looked at one by one.
  private static let maxRoots = 2_000
  /// Beyond this many tests of conditions, the store is asked instead: a save of many objects beside
  /// many fetches of the same value must not cost their product.
  private static let maxTests = 100_000
  /// Beyond this many, a query that was found asks of everything: so much is noted at most.
  private static let maxNoted = 1_000_000
  /// How many objects' values are held at a time.
  private static let chunk = 4_000
  /// From this many objects that concern a query on, it is seen whether they are few of all.
  private static let sample = 128

  let index: QueryIndex
  let touched: TouchedObjects
  /// The position that everything active is true of.
  let base: Int64
  let moment: any LiveMoment
  private(set) var found = QueryBag()
  /// Which objects concern those found queries that need not ask of everything touched.
  private var concerned: [ObjectIdentifier: Set<ObjectID>] = [:]
  /// From how many touched objects on it is noted which of them concern a query.
  private let leastNarrowed: Int
  /// How many objects queries were looked up by.
  private var looked = 0
  private var dismissed = QueryBag()
  /// Whether the store failed, for want of time perhaps: then more queries were found than need be.
  private(set) var hasFailed = false
  private var tests = 0
  private var noted = 0

  /// How many queries were looked up, but their conditions hold for no touched object.
  var settled: Int { dismissed.all.count { !found.contains($0) } }

  init(
    _ index: QueryIndex, _ touched: TouchedObjects, after base: Int64, _ moment: any LiveMoment,
    narrowingFrom leastNarrowed: Int = 8
  ) {
    self.index = index
    self.touched = touched
    self.base = base
    self.moment = moment
    self.leastNarrowed = leastNarrowed
  }

  /// The touched objects that a found query has to ask of: its row of any other is as it was. nil
  /// where it has to ask of everything.
  func objects(for query: LiveQuery) -> Set<ObjectID>? { concerned[ObjectIdentifier(query)] }

  /// Takes a query that has to ask of everything touched.
  private mutating func take(_ query: LiveQuery) {
    found.insert(query)
    concerned[ObjectIdentifier(query)] = nil
  }

  /// Takes a query that `id` concerns.
  private mutating func take(_ query: LiveQuery, for id: ObjectID) {
    // One that stands at a value twice is tested twice.
    guard !isTaken(query) else { return }
    found.insert(query)
    concerned[ObjectIdentifier(query), default: []].insert(id)
    let count = concerned[ObjectIdentifier(query)]?.count ?? 0
    if count >= Self.sample, count * 2 > looked { concerned[ObjectIdentifier(query)] = nil }
  }

  /// Whether nothing more can be found out of a query.
  private func isTaken(_ query: LiveQuery) -> Bool {
    found.contains(query) && concerned[ObjectIdentifier(query)] == nil
  }

  mutating func run() {
    for (entity, objects) in touched.entities {
      for (way, lookout) in index.lookouts[entity] ?? [:]
      where !lookout.watched.union.isDisjoint(with: objects.union) {
        if way.steps.isEmpty {
          searchRoots(way, lookout, objects)
        } else {
          searchRelated(entity, way, lookout, objects)
        }
      }
    }
  }

  // MARK: The fetches' own objects

  private mutating func searchRoots(
    _ way: QueryIndex.Way, _ lookout: QueryIndex.Lookout, _ objects: TouchedObjects.Objects
  ) {
    let loose = lookout.loose.all.filter { !isHopeless($0, way, objects.union) }
    guard let table = index.tables[way.root], !table.used.isEmpty else {
      for query in loose { take(query) }
      return
    }
    // One query alone is asked as soon as it is looked up.
    if index.count == 1 { return takeAll(way, lookout, objects) }
    let tested = objects.masks.count <= Self.maxTested ? loose : []
    if tested.isEmpty { for query in loose { take(query) } }
    for ids in chunks(objects.ids(changedIn: lookout.watched.union)) {
      guard let images = images(of: table, ids) else {
        return takeAll(way, lookout, objects)
      }
      for id in ids {
        let image = images[id]
        let narrowed = objects.masks.count < leastNarrowed ? nil : id
        looked += 1
        lookUp(narrowed, image, objects.masks[id] ?? .all, lookout, table)
        for query in tested where !isTaken(query) { test(query, image, of: narrowed) }
      }
    }
  }

  private mutating func images(of table: PathTable, _ ids: Set<ObjectID>) -> Images? {
    do throws(StoreError) {
      return try Images(of: table, ids, after: base, moment)
    } catch {
      hasFailed = true
      return nil
    }
  }

  /// Looks queries up by one of their own objects, of which `mask` differs.
  private mutating func lookUp(
    _ id: ObjectID?, _ image: Images.Image, _ mask: PropertyMask, _ lookout: QueryIndex.Lookout,
    _ table: PathTable
  ) {
    for place in lookout.guarded.keys {
      lookUp(id, image, at: place, table) { query in
        query.routing.footprint.mask(at: []).isDisjoint(with: mask) ? nil : image
      }
    }
  }

  /// Looks queries up by an object's old and new value, and takes those whose condition may hold
  /// for the image that `isLookedAt` gives; nil leaves a query out.
  ///
  /// - Parameter id: the object, where it alone concerns the query.
  private mutating func lookUp(
    _ id: ObjectID?, _ image: Images.Image, at place: AnchorPlace, _ table: PathTable,
    _ isLookedAt: (LiveQuery) -> Images.Image?
  ) {
    guard let route = index.routes[place], let number = table.number(of: place.path) else { return }
    var values: Set<RoutingValue> = []
    for row in [image.old, image.new] {
      guard let row else { continue }
      values.insert(route.domain.value(row[number]))
    }
    for value in values {
      var looked: [LiveQuery] = []
      route.forEach(at: value) { bag in
        for query in bag.all where !isTaken(query) { looked.append(query) }
      }
      for query in looked {
        if let image = isLookedAt(query) { test(query, image, of: id) }
      }
    }
  }

  /// Takes a query if its condition may hold for an object before or after.
  private mutating func test(_ query: LiveQuery, _ image: Images.Image, of id: ObjectID?) {
    if found.contains(query) { noted += 1 } else { tests += 1 }
    guard tests <= Self.maxTests, noted <= Self.maxNoted else { return take(query) }
    let mayMatch =
      image.old.map { query.routing.mayMatch($0) } ?? false
      || image.new.map { query.routing.mayMatch($0) } ?? false
    guard mayMatch else { return dismissed.insert(query) }
    if let id { take(query, for: id) } else { take(query) }
  }

  // MARK: Related objects

  private mutating func searchRelated(
    _ entity: Int, _ way: QueryIndex.Way, _ lookout: QueryIndex.Lookout,
    _ objects: TouchedObjects.Objects
  ) {
    searchLoose(entity, way, lookout, objects)
    guard !lookout.guarded.isEmpty else { return }
    if index.count == 1 { return takeAll(way, lookout, objects) }
    var table = PathTable()
    for place in lookout.guarded.keys {
      _ = table.use(place.suffix(behind: way.steps, from: entity))
    }
    for ids in chunks(objects.ids(changedIn: lookout.watched.union)) {
      guard let images = images(of: table, ids) else {
        return takeAll(way, lookout, objects)
      }
      for id in ids {
        let mask = objects.masks[id] ?? .all
        for place in lookout.guarded.keys {
          lookUpRelated(images[id], mask, entity, way, place, table)
        }
      }
    }
  }

  private mutating func lookUpRelated(
    _ image: Images.Image, _ mask: PropertyMask, _ entity: Int, _ way: QueryIndex.Way,
    _ place: AnchorPlace, _ table: PathTable
  ) {
    let suffix = place.suffix(behind: way.steps, from: entity)
    guard let route = index.routes[place], let number = table.number(of: suffix) else { return }
    var values: Set<RoutingValue> = []
    for case let row? in [image.old, image.new] { values.insert(route.domain.value(row[number])) }
    // Where it came or went, or what links refer to changed, others have nil there now, or had.
    if mask == .all || image.old == nil || image.new == nil {
      values.insert(route.domain.value(.null))
    }
    for value in values {
      route.forEach(at: value) { bag in
        for query in bag.all where !isHopeless(query, way, mask) { take(query) }
      }
    }
  }

  /// Queries that cannot be looked up from here: by the objects that reach a touched one, where
  /// these are not many; else all of them.
  private mutating func searchLoose(
    _ entity: Int, _ way: QueryIndex.Way, _ lookout: QueryIndex.Lookout,
    _ objects: TouchedObjects.Objects
  ) {
    let loose = lookout.loose.all.filter {
      !isTaken($0) && !isHopeless($0, way, objects.union)
    }
    let anchored = loose.filter { $0.routing.anchors != nil }
    for query in loose where query.routing.anchors == nil { take(query) }
    guard !anchored.isEmpty else { return }
    guard anchored.count > 1, let table = index.tables[way.root],
      let roots = roots(reaching: entity, over: way),
      let images = images(of: table, roots)
    else {
      for query in anchored { take(query) }
      return
    }
    var wanted = QueryBag()
    for query in anchored { wanted.insert(query) }
    let places = Set(anchored.flatMap { $0.routing.anchors ?? [] }.map(\.place))
    for id in roots {
      for place in places {
        lookUp(nil, images[id], at: place, table) { wanted.contains($0) ? images[id] : nil }
      }
    }
  }

  /// The objects that reach a touched one over `way`; nil where there are too many, or the store
  /// failed.
  private mutating func roots(
    reaching entity: Int, over way: QueryIndex.Way
  ) -> Set<ObjectID>? {
    let touches = touched.touches(of: entity)
    var plan = FetchPlan(
      definition: ResultDefinition(entity: way.root, predicate: .everything))
    let steps = [way.steps] + touches.members.keys.map { way.steps + [$0.relationship] }
    plan.expansion = steps.map { PropertyPath(root: way.root, steps: $0, target: .object) }
    do throws(StoreError) {
      let roots = try moment.roots(of: plan, touchedBy: touches)
      return roots.count <= Self.maxRoots ? roots : nil
    } catch {
      hasFailed = true
      return nil
    }
  }

  // MARK: Without values

  /// Takes every query that looks at what was touched at the end of `way`.
  private mutating func takeAll(
    _ way: QueryIndex.Way, _ lookout: QueryIndex.Lookout, _ objects: TouchedObjects.Objects
  ) {
    for query in lookout.loose.all where !isHopeless(query, way, objects.union) {
      take(query)
    }
    for place in lookout.guarded.keys {
      index.routes[place]?.forEach(at: .anything) { bag in
        for query in bag.all where !isHopeless(query, way, objects.union) { take(query) }
      }
    }
  }

  /// Whether a query looks at nothing of what differs.
  private func isHopeless(
    _ query: LiveQuery, _ way: QueryIndex.Way, _ mask: PropertyMask
  ) -> Bool {
    query.routing.footprint.mask(at: way.steps).isDisjoint(with: mask)
  }

  private func chunks(_ ids: Set<ObjectID>) -> [Set<ObjectID>] {
    guard ids.count > Self.chunk else { return ids.isEmpty ? [] : [ids] }
    let all = Array(ids)
    return stride(from: 0, to: all.count, by: Self.chunk).map {
      Set(all[$0..<min($0 + Self.chunk, all.count)])
    }
  }
}

extension AnchorPlace {
  /// What is left of the path for an object of `entity` at the end of `steps`.
  fileprivate func suffix(behind steps: [Int], from entity: Int) -> PropertyPath {
    PropertyPath(root: entity, steps: Array(path.steps[steps.count...]), target: path.target)
  }
}
