import Foundation
import LiveFetch

/// The properties of a city that the table shows.
struct City: Codable, Fetchable, Identifiable {
  static let entityName = "City"
  static let propertiesToFetch: [String]? = ["name", "population", "country.name"]

  let id: Int
  var name: String
  var population: Int?
  var country: String?

  enum CodingKeys: String, CodingKey {
    case id, name, population
    case country = "country.name"
  }
}
