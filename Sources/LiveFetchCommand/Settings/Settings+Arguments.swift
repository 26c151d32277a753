// The table of settings → flags for the argument parser.

import ArgumentParser

extension Option where Value == String? {
  /// The flag of `setting`. Its text is not validated here, but together with the other sources.
  init(_ setting: Setting) {
    self.init(
      name: .customLong(setting.name), help: setting.help, completion: setting.completion)
  }
}

extension Option where Value == [String] {
  /// The flag of `setting`, which may be repeated.
  init(wrappedValue: [String], _ setting: Setting) {
    self.init(
      wrappedValue: wrappedValue, name: .customLong(setting.name), parsing: .singleValue,
      help: setting.help, completion: setting.completion)
  }
}

extension Flag where Value == Bool? {
  /// The flag of `setting`, and its negation, which overrides the environment and the file.
  init(_ setting: Setting) {
    self.init(
      name: .customLong(setting.name), inversion: .prefixedNo, help: setting.help)
  }
}

extension Setting {
  fileprivate var help: ArgumentHelp {
    let defaultValue =
      documentedDefault == "none" || kind == .flag ? "" : " (default: \(documentedDefault))"
    let sentence = meaning.prefix(1).uppercased() + meaning.dropFirst() + "." + defaultValue
    return ArgumentHelp(stringLiteral: "\(sentence) [env: \(variable)]")
      .withPlaceholder(placeholder)
  }

  fileprivate var completion: CompletionKind? {
    switch kind {
    case .choice(let choices): .list(choices)
    case .directory: .directory
    case .path: .file()
    default: nil
    }
  }
}

extension ArgumentHelp {
  fileprivate func withPlaceholder(_ name: String) -> ArgumentHelp {
    var help = self
    if !name.isEmpty { help.valueName = name }
    return help
  }
}
