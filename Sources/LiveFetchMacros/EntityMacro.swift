// The macro @Entity: the properties of a class or structure → its entity's name, keys, wrappers and
// key paths. Built only with the package's trait `Macros`.

#if Macros
  import SwiftCompilerPlugin
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxMacros

  @main struct EntityPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [EntityMacro.self]
  }

  /// Declares the members that name an entity, and wraps the stored properties of a class.
  public struct EntityMacro: MemberMacro, MemberAttributeMacro {
    public static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard let name = typeName(of: declaration) else {
        throw MacroExpansionErrorMessage("@Entity is for a class or a structure")
      }
      let properties = declaration.memberBlock.members.flatMap { names(of: $0.decl) }
      guard !properties.isEmpty else {
        throw MacroExpansionErrorMessage("@Entity needs a property with a type or a value")
      }
      let access =
        declaration.modifiers.map(\.name.text)
        .first { ["public", "package"].contains($0) || $0 == "open" }
        .map { $0 == "open" ? "public " : "\($0) " } ?? ""
      let text = entityName(in: node) ?? "\"\(name)\""
      let list = properties.map { "`\($0)`" }.joined(separator: ", ")
      let paths = properties.map { "\\\(name).`\($0)`: \"\($0)\"" }.joined(separator: ", ")
      return [
        "\(raw: access)static let entityName = \(raw: text)",
        "\(raw: access)enum Key: String, KeyCodable { case \(raw: list) }",
        "\(raw: access)static var predicateKeyPaths: [AnyKeyPath: String] { [\(raw: paths)] }",
      ]
    }

    public static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      guard declaration.is(ClassDeclSyntax.self), let variable = member.as(VariableDeclSyntax.self),
        variable.attributes.isEmpty, variable.bindings.count == 1,
        let name = names(of: member).first
      else { return [] }
      return ["@\(raw: wrapper(of: variable))(Key.`\(raw: name)`)"]
    }

    private static func typeName(of declaration: some DeclGroupSyntax) -> String? {
      declaration.as(ClassDeclSyntax.self)?.name.text
        ?? declaration.as(StructDeclSyntax.self)?.name.text
    }

    /// The literal between the parentheses of `@Entity("City")`, with its quotation marks.
    private static func entityName(in node: AttributeSyntax) -> String? {
      guard case .argumentList(let arguments)? = node.arguments else { return nil }
      return arguments.first?.expression.trimmedDescription
    }

    /// The names of the stored properties that a declaration of variables has.
    private static func names(of member: some DeclSyntaxProtocol) -> [String] {
      guard let variable = member.as(VariableDeclSyntax.self),
        !variable.modifiers.contains(where: { ["static", "class", "lazy"].contains($0.name.text) })
      else { return [] }
      return variable.bindings.compactMap { binding in
        guard isStored(binding) else { return nil }
        let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        return name.map { $0.hasPrefix("`") ? String($0.dropFirst().dropLast()) : $0 }
      }
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
