import Foundation
import LiveFetch

/// What the table shows of a city.
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
