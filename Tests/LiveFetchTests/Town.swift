// A value type, the stores that hold it, and a log of what their controllers report.

import LiveFetch
import Synchronization

struct Town: Identifiable, InstanceIdentifiable, Codable, Hashable, Sendable {
  let id: Int
  var name: String
  var people: Int
  var land = "A"
}

typealias Towns = ArrayDataStore<Town, FilterRequest<Town>>
typealias TownsController = DataStoreResultsController<Town, FilterRequest<Town>>

/// Records a controller's callbacks.
@MainActor
final class TownLog {
  var lines: [String] = []
  private let controller: TownsController

  init(_ controller: TownsController) {
    self.controller = controller
    controller.controllerWillChangeContent = { [weak self, unowned controller] in
      self?.lines.append("will \(controller.fetchedResults.count)")
    }
    controller.controllerDidChangeResults = { [weak self] change in
      guard let self else { return }
      lines += change.sections.map { "\($0.type) section \($0.name) \($0.index)" }
      lines += change.objects.map { ChangeLog.line($0, $0.object.name) }
    }
    controller.controllerDidChangeContent = { [weak self, unowned controller] in
      self?.lines.append("did \(controller.fetchedResults.count)")
    }
    controller.controllerDidFail = { [weak self] in self?.lines.append("failed \($0)") }
  }

  func take() -> [String] {
    defer { lines = [] }
    return lines
  }
}

/// A store whose queries the test answers.
final class ManualDataStore: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
  let queries = Mutex<[Query]>([])
  let stopped = Mutex(0)

  override func execute(_ query: Query) { queries.withLock { $0.append(query) } }
  override func stop(_ query: Query) { stopped.withLock { $0 += 1 } }

  var query: Query? { queries.withLock { $0.last } }
}
