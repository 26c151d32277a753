// The macro @Entity: the properties of a class or structure → its entity's name, keys, wrappers and
// key paths. Built only with the package's trait `Macros`.

#if Macros
  import SwiftCompilerPlugin
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxMacros

  @main struct EntityPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [EntityMacro.self, TransientMacro.self]
  }

  /// Marks a property for ``EntityMacro``, which leaves it out.
  public struct TransientMacro: PeerMacro {
    public static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) -> [DeclSyntax] { [] }
  }

  /// Declares the members that name an entity, and wraps the stored properties of a class.
  public struct EntityMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    public static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard let name = typeName(of: declaration) else {
        throw MacroExpansionErrorMessage("@Entity is for a class or a structure")
      }
      guard hasSupportedSuperclass(declaration) else {
        throw MacroExpansionErrorMessage(
          "@Entity is for a class that inherits from ManagedObject directly; "
            + "another class declares entityName, Key and its property wrappers itself")
      }
      if let name = namesWithinConditions(declaration.memberBlock.members).first {
        throw MacroExpansionErrorMessage(
          "@Entity has no keys of properties within #if: declare `\(name)` outside, "
            + "or mark it @Transient")
      }
      if declaration.is(ClassDeclSyntax.self) { try checkVariables(of: declaration) }
      let stored = declaration.memberBlock.members.flatMap { names(of: $0.decl) }
      let codingKeys = declaration.is(StructDeclSyntax.self) ? codingKeys(of: declaration) : nil
      let properties = stored.compactMap { name -> Property? in
        guard let codingKeys else { return Property(name: name, key: name) }
        return codingKeys.first { $0.name == name }
      }
      guard !properties.isEmpty else {
        throw MacroExpansionErrorMessage("@Entity needs a property with a type or a value")
      }
      let access =
        declaration.modifiers.map(\.name.text)
        .first { ["public", "package"].contains($0) || $0 == "open" }
        .map { $0 == "open" ? "public " : "\($0) " } ?? ""
      let text = entityName(in: node) ?? "\"\(name)\""
      let list = properties.map(\.enumCase).joined(separator: ", ")
      let paths = properties.map { "\\`\(name)`.`\($0.name)`: \"\($0.key)\"" }
        .joined(separator: ", ")
      var members: [DeclSyntax] = [
        "\(raw: access)static let entityName = \(raw: text)",
        "\(raw: access)enum Key: String, KeyCodable { case \(raw: list) }",
        "\(raw: access)static var predicateKeyPaths: [AnyKeyPath: String] { [\(raw: paths)] }",
      ]
      if declaration.is(StructDeclSyntax.self), codingKeys == nil,
        declaration.memberBlock.members.contains(where: { isTransient($0.decl) })
      {
        // Transient properties are neither decoded nor encoded.
        members.append("\(raw: access)enum CodingKeys: String, CodingKey { case \(raw: list) }")
      }
      if declaration.is(StructDeclSyntax.self), !declares("propertiesToFetch", declaration),
        properties.contains(where: { $0.key.contains(".") })
      {
        // A fetch without a selection has no values of related objects; every item has its id.
        let keys = properties.map(\.key).filter { $0 != "id" }.map { "\"\($0)\"" }
        let selection = keys.joined(separator: ", ")
        members.append(
          "\(raw: access)static var propertiesToFetch: [String]? { [\(raw: selection)] }")
      }
      return members
    }

    public static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) -> [ExtensionDeclSyntax] {
      guard !protocols.isEmpty, hasSupportedSuperclass(declaration) else { return [] }
      let conformance: DeclSyntax = "extension \(type.trimmed): PredicateKeyPathProviding {}"
      return conformance.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }

    public static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      guard declaration.is(ClassDeclSyntax.self), hasSupportedSuperclass(declaration),
        let variable = member.as(VariableDeclSyntax.self),
        variable.attributes.isEmpty, variable.bindings.count == 1,
        let name = names(of: member).first
      else { return [] }
      return ["@\(raw: wrapper(of: variable))(Key.`\(raw: name)`)"]
    }

    /// A stored property, and its name in the store.
    private struct Property {
      let name: String
      let key: String

      var enumCase: String { name == key ? "`\(name)`" : "`\(name)` = \"\(key)\"" }
    }

    /// The cases of the enumeration `CodingKeys` of a structure; nil if it has none.
    private static func codingKeys(of declaration: some DeclGroupSyntax) -> [Property]? {
      let keys = declaration.memberBlock.members.lazy.compactMap { $0.decl.as(EnumDeclSyntax.self) }
        .first { $0.name.text == "CodingKeys" }
      return keys?.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
        .flatMap(\.elements).map { element in
          let name = withoutBackticks(element.name.text)
          let value = element.rawValue?.value.as(StringLiteralExprSyntax.self)
          return Property(name: name, key: value?.representedLiteralValue ?? name)
        }
    }

    /// True if the declaration has a variable of this name.
    private static func declares(_ name: String, _ declaration: some DeclGroupSyntax) -> Bool {
      declaration.memberBlock.members.contains { member in
        member.decl.as(VariableDeclSyntax.self)?.bindings.contains {
          $0.pattern.trimmedDescription == name
        } ?? false
      }
    }

    /// Refuses stored properties of a class that no wrapper can be given to.
    private static func checkVariables(of declaration: some DeclGroupSyntax) throws {
      for member in declaration.memberBlock.members {
        guard let variable = member.decl.as(VariableDeclSyntax.self),
          case let names = names(of: member.decl), let name = names.first
        else { continue }
        if names.count > 1 {
          throw MacroExpansionErrorMessage(
            "@Entity needs a declaration of its own for each of: "
              + names.joined(separator: ", "))
        }
        let isWeak = variable.modifiers.contains { ["weak", "unowned"].contains($0.name.text) }
        if isWeak || variable.bindingSpecifier.text == "let" {
          throw MacroExpansionErrorMessage(
            "@Entity stores no property that is let, weak or unowned: declare `\(name)` with var, "
              + "or mark it @Transient")
        }
      }
    }

    /// False for a class with a superclass other than ManagedObject.
    private static func hasSupportedSuperclass(_ declaration: some DeclGroupSyntax) -> Bool {
      guard let type = declaration.as(ClassDeclSyntax.self) else { return true }
      let first = type.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription
      return first == "ManagedObject" || first == "LiveFetch.ManagedObject"
    }

    private static func typeName(of declaration: some DeclGroupSyntax) -> String? {
      let name =
        declaration.as(ClassDeclSyntax.self)?.name ?? declaration.as(StructDeclSyntax.self)?.name
      return name.map { withoutBackticks($0.text) }
    }

    /// The literal between the parentheses of `@Entity("City")`, with its quotation marks.
    private static func entityName(in node: AttributeSyntax) -> String? {
      guard case .argumentList(let arguments)? = node.arguments else { return nil }
      return arguments.first?.expression.trimmedDescription
    }

    /// The names of the stored properties that a declaration of variables has.
    private static func names(of member: some DeclSyntaxProtocol) -> [String] {
      guard let variable = member.as(VariableDeclSyntax.self), !isTransient(member),
        !variable.modifiers.contains(where: { ["static", "class", "lazy"].contains($0.name.text) })
      else { return [] }
      return variable.bindings.compactMap { binding in
        guard isStored(binding) else { return nil }
        let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        return name.map(withoutBackticks)
      }
    }

    /// The names of the stored properties within `#if`, whatever its conditions.
    private static func namesWithinConditions(_ members: MemberBlockItemListSyntax) -> [String] {
      members.flatMap { member -> [String] in
        guard let condition = member.decl.as(IfConfigDeclSyntax.self) else { return [] }
        return condition.clauses.flatMap { clause -> [String] in
          guard case .decls(let members)? = clause.elements else { return [] }
          return members.flatMap { names(of: $0.decl) } + namesWithinConditions(members)
        }
      }
    }

    private static func withoutBackticks(_ name: String) -> String {
      name.hasPrefix("`") ? String(name.dropFirst().dropLast()) : name
    }

    private static func isTransient(_ member: some DeclSyntaxProtocol) -> Bool {
      member.as(VariableDeclSyntax.self)?.attributes.contains { attribute in
        let name = attribute.as(AttributeSyntax.self)?.attributeName.trimmedDescription
        return name == "Transient" || name == "LiveFetch.Transient"
      } ?? false
    }

    private static func isStored(_ binding: PatternBindingSyntax) -> Bool {
      guard let accessors = binding.accessorBlock?.accessors else { return true }
      guard case .accessors(let list) = accessors else { return false }
      return list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }

    /// The property wrapper for a type: that of attributes, unless the type is a relationship's.
    private static func wrapper(of variable: VariableDeclSyntax) -> String {
      var type = variable.bindings.first?.typeAnnotation?.type
      if let optional = type?.as(OptionalTypeSyntax.self) { type = optional.wrappedType }
      let name =
        type?.as(IdentifierTypeSyntax.self)?.name.text
        ?? type?.as(MemberTypeSyntax.self)?.name.text
      return switch name {
      case "Fault": "ToOneRelationship"
      case "ToManyProxy": "ToManyRelationship"
      default: "ManagedAttribute"
      }
    }
  }
#else
  @main struct EntityPlugin {
    static func main() {}
  }
#endif
