// Batch mode: ids are fetched at once, elements when they are accessed or loaded.

extension FetchedResultsController {
  /// The number of elements, loaded or not; 0 before the first fetch.
  public var numberOfObjects: Int {
    registrar.access(self, keyPath: \.sections)
    return storedContent?.visibleState.count ?? 0
  }

  /// Loads the elements with these indexes, counted over all sections, that are not loaded yet.
  ///
  /// With a `fetchBatchSize`, a controller fetches ids first. An element is created when it is
  /// loaded, or after ``object(at:)-(Position)`` was called for it: that call returns nil, so show
  /// a placeholder; the controller then reports the whole batch as updated. Loaded elements are
  /// kept up to date. Without a batch size this method only returns elements.
  ///
  /// - Returns: the elements, without objects that were deleted in the meantime.
  /// - Throws: ``FetchError``.
  @discardableResult
  public func load(
    _ range: Range<Int>, isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) -> [Element] {
    guard let content = storedContent else { return [] }
    let ids = Array(content.ids[range.clamped(to: 0..<content.visibleState.count)])
    guard content.isBatched else { return ids.compactMap { element(withID: $0) } }
    let generation = fetchGeneration
    let made = try await elements(
      loading: ids.filter { content.loaded[$0] == nil }, isolation: isolation)
    guard generation == fetchGeneration, var current = storedContent else {
      return ids.compactMap { content.loaded[$0] ?? made[$0] }
    }
    // An element that a diff created in the meantime is newer. One that left the result would stay as it is.
    for (id, element) in made where current.loaded[id] == nil && position(of: id) != nil {
      current.load(element, of: id)
    }
    registrar.withMutation(of: self, keyPath: \.sections) { storedContent = current }
    return ids.compactMap { current.loaded[$0] ?? made[$0] }
  }

  /// Returns the element at `position`, loading its batch if necessary; nil if there is none.
  ///
  /// - Throws: ``FetchError``.
  public func object(
    loading position: Position, isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) -> Element? {
    guard let content = storedContent, let item = content.visibleState[position] else { return nil }
    if let element = content[position] { return element }
    try await load(batch(at: content.visibleState.number(of: position)), isolation: isolation)
    return element(withID: item.id)
  }

  /// Loads elements. Elements that change during the read are read again.
  private func elements(
    loading ids: [ObjectID], isolation: isolated (any Actor)?
  ) async throws(FetchError) -> [ObjectID: Element] {
    lastLoad += 1
    let number = lastLoad
    defer { changedWhileLoading[number] = nil }
    var made: [ObjectID: Element] = [:]
    var missing = ids
    for _ in 0..<8 where !missing.isEmpty {
      changedWhileLoading[number] = []
      made.merge(try await elements(withIDs: missing, isolation: isolation)) { $1 }
      let changed = changedWhileLoading[number] ?? []
      missing = missing.filter(changed.contains)
    }
    return made
  }

  /// Reloads the elements that were loaded before the content was replaced without a diff; empty if
  /// the store fails.
  func elementsKept(
    in state: ResultState, isBatched: Bool, isolation: isolated (any Actor)?
  ) async -> [ObjectID: Element] {
    guard isBatched, let loaded = storedContent?.loaded, !loaded.isEmpty else { return [:] }
    let ids = state.sections.flatMap { $0.items.map(\.id) }.filter { loaded[$0] != nil }
    let elements = try? await elements(withIDs: ids, isolation: isolation)
    return Dictionary(elements ?? []) { $1 }
  }

  private func element(withID id: ObjectID) -> Element? {
    position(of: id).flatMap { storedContent?[$0] }
  }

  private func batch(at number: Int) -> Range<Int> {
    let size = max(1, fetchRequest.fetchBatchSize)
    let start = number / size * size
    return start..<start + size
  }

  /// Reads elements from the store's current state.
  func elements(
    withIDs ids: [ObjectID], isolation: isolated (any Actor)?
  ) async throws(FetchError) -> [(ObjectID, Element)] {
    var elements: [(ObjectID, Element)] = []
    // A predicate accepts at most 10,000 values.
    for some in ids.chunks(of: 1000) {
      let state: ResultState
      do throws(ObjectStoreError) {
        // Without a digest, so that an offline store asks the server: nothing would correct a stored result.
        state = try await context.store.state(of: .object(fetchRequest.body(ids: some))).state
      } catch {
        throw .store(error)
      }
      await context.completeObjects(of: state, as: Element.self, isolation: isolation)
      elements += made(of: state)
    }
    return elements
  }

  /// The elements of a state. Reports unreadable ones and leaves them out.
  private func made(of state: ResultState) -> [(ObjectID, Element)] {
    context.beginMaterializing(asOf: state.token)
    defer { context.endMaterializing() }
    return state.items.compactMap { item in
      do throws(MaterializationError) {
        let element = try Element.materialize(item, in: context)
        unreadable[item.id] = nil
        return (item.id, element)
      } catch {
        reportUnreadable([item.id: error])
        return nil
      }
    }
  }
}

// MARK: - Touching

extension FetchedResultsController {
  /// Records an access to an element that is not loaded.
  func requestBatch(of position: Position) {
    guard let batchRequests, let state = storedContent?.visibleState, state[position] != nil else {
      return
    }
    let batch = batch(at: state.number(of: position))
    if requestedBatches.insert(batch.lowerBound).inserted { batchRequests.yield(batch) }
  }

  /// Loads accessed batches and reports them.
  func loadRequestedBatches(isolation: isolated (any Actor)?) {
    guard let actor = isolation else { return }
    let (batches, continuation) = AsyncStream.makeStream(of: Range<Int>.self)
    batchRequests = continuation
    requestedBatches = []
    let reference = IsolatedReference(self, on: actor)
    Task {
      for await batch in batches {
        await reference.run { controller, isolation in
          await controller.loadRequestedBatch(batch, isolation: isolation)
        }
      }
    }
  }

  private func loadRequestedBatch(_ batch: Range<Int>, isolation: isolated (any Actor)?) async {
    let before = storedContent
    let elements = try? await load(batch, isolation: isolation)
    requestedBatches.remove(batch.lowerBound)
    guard elements?.isEmpty == false, let before, let now = storedContent else { return }
    let arrived = now.loaded.keys.filter { before.loaded[$0] == nil }
    let updates = arrived.compactMap { id in
      position(of: id).map { ObjectChange(.update, id, from: $0, to: $0) }
    }
    notify(now, ContentChange(objects: updates))
  }
}

extension ResultState {
  /// The index of the item at `position`, counted over all sections.
  fileprivate func number(of position: Position) -> Int {
    sections.prefix(position.section).reduce(position.item) { $0 + $1.items.count }
  }
}
