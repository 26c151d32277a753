// The objects that an object keeps in memory. References never form a cycle, so objects are
// released with their last user.

extension ManagedObject {
  /// Retains the objects of a relationship in place of earlier ones, except those that retain this
  /// object.
  func retain(_ objects: some Sequence<ManagedObject>, as name: String) {
    related[name] = nil
    for object in objects { addRetained(object, as: name) }
  }

  /// Retains one more object of a relationship, unless it retains this object.
  func addRetained(_ object: ManagedObject, as name: String) {
    guard object !== self, !isRetained || !object.mayRetain(self) else { return }
    object.isRetained = true
    related[name, default: []].insert(object)
  }

  /// True if this object retains `other`, directly or through others; also true if the search
  /// exceeds a thousand objects.
  private func mayRetain(_ other: ManagedObject) -> Bool {
    if related.values.contains(where: { $0.contains(other) }) { return true }
    var found: Set = [self]
    var open = [self]
    while let object = open.popLast() {
      for next in object.related.values.joined() where found.insert(next).inserted {
        guard next !== other, found.count <= 1000 else { return true }
        open.append(next)
      }
    }
    return false
  }
}
