// One moment's touches → the live queries that it may change, each once.
//
// Values are read of the touched objects alone, before and after, two queries of the store for each
// entity touched; what follows are lookups. Where the store cannot tell values, every query that
// looks at something touched is a candidate; so it is where the store fails, and each query that asks
// it hears why.

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
  /// How many objects' values are held at a time.
  private static let chunk = 4_000

  let index: QueryIndex
  let touched: TouchedObjects
  /// The position that everything active is true of.
  let base: Int64
  let moment: any LiveMoment
  private(set) var found = QueryBag()
  private var dismissed = QueryBag()
  private var tests = 0

  /// How many queries were looked up, but their conditions hold for no touched object.
  var settled: Int { dismissed.all.count { !found.contains($0) } }

  init(_ index: QueryIndex, _ touched: TouchedObjects, after base: Int64, _ moment: any LiveMoment)
  {
    self.index = index
    self.touched = touched
    self.base = base
    self.moment = moment
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
      for query in loose { found.insert(query) }
      return
    }
    // One query alone is asked as soon as it is looked up.
    if index.count == 1 { return takeAll(way, lookout, objects) }
    let tested = objects.masks.count <= Self.maxTested ? loose : []
    if tested.isEmpty { for query in loose { found.insert(query) } }
    for ids in chunks(objects.ids(changedIn: lookout.watched.union)) {
      guard let images = Images(of: table, ids, after: base, moment) else {
        return takeAll(way, lookout, objects)
      }
      for id in ids {
        let image = images[id]
        lookUp(image, objects.masks[id] ?? .all, lookout, table)
        for query in tested { test(query, image) }
      }
    }
  }

  /// Looks queries up by one of their own objects, of which `mask` differs.
  private mutating func lookUp(
    _ image: Images.Image, _ mask: PropertyMask, _ lookout: QueryIndex.Lookout, _ table: PathTable
  ) {
    for place in lookout.guarded.keys {
      lookUp(image, at: place, table) { query in
        query.routing.footprint.mask(at: []).isDisjoint(with: mask) ? nil : image
      }
    }
  }

  /// Looks queries up by an object's old and new value, and takes those whose condition may hold
  /// for the image that `condition` gives; nil leaves a query out.
  private mutating func lookUp(
    _ image: Images.Image, at place: AnchorPlace, _ table: PathTable,
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
        for query in bag.all where !found.contains(query) { looked.append(query) }
      }
      for query in looked {
        if let image = isLookedAt(query) { test(query, image) }
      }
    }
  }

  /// Takes a query if its condition may hold for an object before or after.
  private mutating func test(_ query: LiveQuery, _ image: Images.Image) {
    tests += 1
    let mayMatch =
      tests > Self.maxTests
      || image.old.map { query.routing.mayMatch($0) } ?? false
      || image.new.map { query.routing.mayMatch($0) } ?? false
    if mayMatch { found.insert(query) } else { dismissed.insert(query) }
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
      guard let images = Images(of: table, ids, after: base, moment) else {
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
    for row in [image.old, image.new] {
      guard let row else { continue }
      route.forEach(at: route.domain.value(row[number])) { bag in
        for query in bag.all where !isHopeless(query, way, mask) { found.insert(query) }
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
      !found.contains($0) && !isHopeless($0, way, objects.union)
    }
    let anchored = loose.filter { $0.routing.anchors != nil }
    for query in loose where query.routing.anchors == nil { found.insert(query) }
    guard !anchored.isEmpty else { return }
    guard anchored.count > 1, let table = index.tables[way.root],
      let roots = roots(reaching: entity, over: way),
      let images = Images(of: table, roots, after: base, moment)
    else {
      for query in anchored { found.insert(query) }
      return
    }
    var wanted = QueryBag()
    for query in anchored { wanted.insert(query) }
    let places = Set(anchored.flatMap { $0.routing.anchors ?? [] }.map(\.place))
    for id in roots {
      for place in places {
        lookUp(images[id], at: place, table) { wanted.contains($0) ? images[id] : nil }
      }
    }
  }

  /// The objects that reach a touched one over `way`; nil where there are too many, or the store
  /// failed.
  private func roots(
    reaching entity: Int, over way: QueryIndex.Way
  ) -> Set<ObjectID>? {
    let touches = touched.touches(of: entity)
    var plan = FetchPlan(
      definition: ResultDefinition(entity: way.root, predicate: .everything))
    let steps = [way.steps] + touches.members.keys.map { way.steps + [$0.relationship] }
    plan.expansion = steps.map { PropertyPath(root: way.root, steps: $0, target: .object) }
    guard let roots = try? moment.roots(of: plan, touchedBy: touches),
      roots.count <= Self.maxRoots
    else { return nil }
    return roots
  }

  // MARK: Without values

  /// Takes every query that looks at what was touched at the end of `way`.
  private mutating func takeAll(
    _ way: QueryIndex.Way, _ lookout: QueryIndex.Lookout, _ objects: TouchedObjects.Objects
  ) {
    for query in lookout.loose.all where !isHopeless(query, way, objects.union) {
      found.insert(query)
    }
    for place in lookout.guarded.keys {
      index.routes[place]?.forEach(at: .anything) { bag in
        for query in bag.all where !isHopeless(query, way, objects.union) { found.insert(query) }
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
