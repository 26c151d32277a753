// Metrics in Prometheus' data model. Components return families, and the handler of `/metrics`
// writes them. Value types; the components count.

/// The samples of one metric name.
public struct MetricFamily: Sendable, Hashable {
  /// The Prometheus type of a metric.
  public enum Kind: String, Sendable, Hashable { case counter, gauge, histogram }

  /// A value with its labels.
  public struct Sample: Sendable, Hashable {
    /// The suffix of the family's name; empty except for histograms.
    public let suffix: String
    /// The labels, which distinguish the samples of a family.
    public let labels: [Label]
    /// In the unit that the family's name ends with, such as `_seconds`.
    public let value: Double

    /// Makes a sample.
    public init(suffix: String = "", labels: [Label] = [], value: Double) {
      self.suffix = suffix
      self.labels = labels
      self.value = value
    }
  }

  /// A label's name and value.
  public struct Label: Sendable, Hashable {
    /// Letters, digits and underscores.
    public let name: String
    /// Any text.
    public let value: String

    /// Makes a label.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Letters, digits and underscores. A counter's name ends in `_total`.
  public let name: String
  /// A sentence that explains the metric.
  public let help: String
  /// The type of the metric.
  public let kind: Kind
  /// One sample for each combination of labels and suffix.
  public let samples: [Sample]

  /// Makes a family of metrics.
  public init(_ name: String, _ help: String, _ kind: Kind, _ samples: [Sample]) {
    self.name = name
    self.help = help
    self.kind = kind
    self.samples = samples
  }

  /// Creates a family of one sample without labels.
  public init(_ name: String, _ help: String, _ kind: Kind, _ value: some BinaryInteger) {
    self.init(name, help, kind, [Sample(value: Double(value))])
  }
}

extension MetricFamily {
  /// The connections that a store has to its file or database.
  public init(storeConnections idle: Int, busy: Int) {
    self.init(
      "livefetch_store_connections", "Connections that read the store, by state.", .gauge,
      [
        .init(labels: [.init("state", "busy")], value: Double(busy)),
        .init(labels: [.init("state", "idle")], value: Double(idle)),
      ])
  }
}

/// Counts of observed values in buckets.
public struct Histogram: Sendable, Hashable {
  /// The upper bounds of the buckets, ascending. An additional bucket holds larger values.
  public let bounds: [Double]
  /// The number of values in each bucket, not cumulative.
  public private(set) var counts: [Int]
  /// The sum of all values.
  public private(set) var sum = 0.0

  /// Makes a histogram without values.
  public init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Makes a histogram with these counts, one for each bucket.
  public init(bounds: [Double], counts: [Int], sum: Double) {
    self.bounds = bounds
    self.counts = counts
    self.sum = sum
  }

  /// Counts a value. O(buckets).
  public mutating func observe(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  /// Returns the cumulative buckets, the sum and the count.
  public func samples(_ labels: [MetricFamily.Label] = []) -> [MetricFamily.Sample] {
    var total = 0
    var samples: [MetricFamily.Sample] = []
    for (index, count) in counts.enumerated() {
      total += count
      let end = index < bounds.count ? MetricFamily.text(bounds[index]) : "+Inf"
      samples.append(
        .init(
          suffix: "_bucket", labels: labels + [MetricFamily.Label("le", end)],
          value: Double(total)))
    }
    samples.append(.init(suffix: "_sum", labels: labels, value: sum))
    samples.append(.init(suffix: "_count", labels: labels, value: Double(total)))
    return samples
  }
}

// MARK: - Text

extension MetricFamily {
  /// Appends the family in Prometheus' text format, version 0.0.4.
  public func append(to text: inout String) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      text += name + sample.suffix
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
        text += "{" + labels.joined(separator: ",") + "}"
      }
      text += " \(Self.text(sample.value))\n"
    }
  }

  private static func escaped(_ value: String) -> String {
    value.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }

  /// Returns integers without a decimal point.
  static func text(_ value: Double) -> String {
    if let integer = Int64(exactly: value) { return String(integer) }
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return "\(value)"
  }
}

/// A component that counts.
public protocol MetricsSource {
  /// The current values.
  var metrics: [MetricFamily] { get }
}
