// The live result of a fetch as a property of a SwiftUI view.

#if canImport(SwiftUI)
  import FetchModel
  import SwiftUI

  /// The elements of a fetch, followed while the view exists.
  ///
  /// ```swift
  /// struct CitiesView: View {
  ///   @Fetched(sortedBy: [.ascending("name")]) var cities: [City]
  ///
  ///   var body: some View {
  ///     List(cities) { Text($0.name) }
  ///   }
  /// }
  ///
  /// CitiesView().fetchContext(context)
  /// ```
  ///
  /// Sections, state and errors are those of the projected controller, `$cities`. A view that is
  /// created again with another request changes the request of its controller.
  @MainActor @propertyWrapper
  public struct Fetched<Element: Fetchable>: @preconcurrency DynamicProperty {
    @Environment(\.fetchContext) private var context
    @State private var source = FetchedSource<Element>()
    private let request: FetchRequest<Element>
    private let section: SortTerm?

    /// - Parameters:
    ///   - request: the fetch request.
    ///   - section: groups the elements; it precedes the request's sort descriptors.
    public init(_ request: FetchRequest<Element>, section: SortTerm? = nil) {
      self.request = request
      self.section = section
    }

    /// Creates a request for the objects that `predicate` matches; all of them if it is nil.
    public init(
      where predicate: FetchPredicate? = nil, sortedBy sortDescriptors: [SortTerm] = [],
      section: SortTerm? = nil
    ) {
      self.init(FetchRequest(where: predicate, sortedBy: sortDescriptors), section: section)
    }

    /// Every element in order; empty before the first fetch, and in a view without a context.
    public var wrappedValue: [Element] { source.controller?.fetchedObjects ?? [] }

    /// The controller; nil in a view without a context: see `fetchContext(_:)`.
    public var projectedValue: FetchedResultsController<Element>? { source.controller }

    /// Called by SwiftUI before the view's body.
    public mutating func update() {
      guard let context else { return }
      source.follow(request, section, in: context)
    }
  }

  /// The controller of one view.
  @MainActor
  private final class FetchedSource<Element: Fetchable> {
    private(set) var controller: FetchedResultsController<Element>?
    /// The request that was fetched last.
    private var body: [JSON.Member] = []

    /// Fetches, if the context or the request is another one than before. Errors are those of the
    /// controller's state.
    func follow(
      _ request: FetchRequest<Element>, _ section: SortTerm?, in context: ManagedObjectContext
    ) {
      let body = request.followedBody(section: section)
      if let controller, controller.context === context {
        guard body != self.body else { return }
        self.body = body
        Task { try? await controller.update(fetchRequest: request, section: section) }
      } else {
        let controller = FetchedResultsController(
          fetchRequest: request, context: context, section: section)
        (self.controller, self.body) = (controller, body)
        Task { try? await controller.performFetch() }
      }
    }
  }

  private struct FetchContextKey: EnvironmentKey {
    static var defaultValue: ManagedObjectContext? { nil }
  }

  extension EnvironmentValues {
    /// The context of ``Fetched`` properties.
    public var fetchContext: ManagedObjectContext? {
      get { self[FetchContextKey.self] }
      set { self[FetchContextKey.self] = newValue }
    }
  }

  extension View {
    /// Sets the context of ``Fetched`` properties in this view and below. The context belongs to the
    /// main actor.
    @MainActor
    public func fetchContext(_ context: ManagedObjectContext?) -> some View {
      environment(\.fetchContext, context)
    }
  }
#endif
