// Observation of one object: a function that reads any of its properties is notified of the next
// change of the object, whether the program or the store makes it.

import FetchModel
import Observation

extension ManagedObject: Observable {
  /// Registers that the observed function reads a property.
  func registerRead() {
    let registrar = registrar ?? ObservationRegistrar()
    self.registrar = registrar
    registrar.access(self, keyPath: \.row)
  }

  /// Notifies the observers of any property.
  func notifyReaders() { registrar?.withMutation(of: self, keyPath: \.row) {} }
}

extension ManagedObject: Identifiable {}
