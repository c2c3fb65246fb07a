import type ts from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'
import { anchorOf } from './anchor.ts'
import { compiler } from './compiler.ts'
import { entriesOfPackage } from './entries.ts'

/*
 * The reference of the API as Markdown, a page for each entry point, read from the declarations of
 * a build: each export with its docstring, its signature or its members, in the order in which the
 * entry point exports them. Names of exported types are links.
 */

const { SymbolFlags, ModifierFlags } = compiler

/** The reference, and what it lacks. */
export interface Reference {
  /** Text of each page, by its entry point. */
  readonly pages: Readonly<Record<string, string>>
  /** Exports without a docstring, such as `hexline/bulk: RangeEnd`. */
  readonly undocumented: readonly string[]
}

/**
 * The reference of a build. `folder` is the absolute path of the build, with a slash at its end.
 */
export function referenceOf(folder: string, entries: Readonly<Record<string, string>> = entriesOfPackage()): Reference {
  const files = Object.values(entries).map((file) => folder + file)
  const program = compiler.createProgram(files, {
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true, types: ['node'] },
    ...{ lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'], target: compiler.ScriptTarget.ES2022 },
    ...{ module: compiler.ModuleKind.ESNext, moduleResolution: compiler.ModuleResolutionKind.Bundler },
  })
  const checker = program.getTypeChecker()
  const exported = Object.fromEntries(Object.entries(entries).map(([entry, file]) => [entry, exportsOf(file)])) as Record<string, Map<string, ts.Symbol>>
  /**
   * The page and the anchor of each exported symbol; those of the first entry point that exports
   * it.
   */
  const places = new Map<ts.Symbol, { readonly entry: string; readonly anchor: string }>()
  for (const [entry, symbols] of Object.entries(exported))
    for (const [name, symbol] of symbols) if (!places.has(symbol)) places.set(symbol, { entry, anchor: anchorOf(name) })

  const undocumented: string[] = []
  const pages = Object.fromEntries(Object.keys(entries).map((entry) => [entry, pageOf(entry)]))
  return { pages, undocumented }

  function exportsOf(file: string): Map<string, ts.Symbol> {
    const source = program.getSourceFile(folder + file)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${folder}${file} is missing: npm run build makes it`)
    return new Map(checker.getExportsOfModule(module).map((symbol) => [symbol.name, resolved(symbol)]))
  }

  function resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  }

  function pageOf(entry: string): string {
    const name = entry === 'hexline' ? entry : `hexline/${entry}`
    const source = program.getSourceFile(folder + entries[entry]) as ts.SourceFile
    const [, summary] = /^\/\*\*[\s*]*hexline[\w/]*: ([\s\S]*?)\*\//.exec(source.text) ?? []
    if (summary === undefined) throw new Error(`${folder}${entries[entry]} does not begin with a comment that says what ${name} is`)
    const sections = new Map(['Functions', 'Constants', 'Classes', 'Types'].map((title): [string, string[]] => [title, []]))
    for (const [exportName, symbol] of exported[entry] ?? []) sections.get(kindOf(symbol))?.push(exportText(entry, exportName, symbol))
    const body = [...sections].filter(([, texts]) => texts.length > 0).map(([title, texts]) => `## ${title}\n\n${texts.join('\n\n')}`)
    return `# ${name}\n\n${summary
      .replaceAll(/\s*\n \*\s*/g, ' ')
      .trim()
      .replace(/^./, (first) => first.toUpperCase())}\n\n${body.join('\n\n')}\n`
  }

  function exportText(entry: string, name: string, symbol: ts.Symbol): string {
    const place = places.get(symbol)
    const heading = `### ${name}`
    if (place !== undefined && place.entry !== entry)
      return `${heading}\n\nThe same as [${name} of \`hexline${place.entry === 'hexline' ? '' : `/${place.entry}`}\`](${place.entry}.md#${place.anchor}).`
    const words = docsOf(symbol)
    if (words === '') undocumented.push(`${entry}: ${name}`)
    return [heading, words, ...declared(entry, name, symbol)].filter((part) => part !== '').join('\n\n')
  }

  function declared(entry: string, name: string, symbol: ts.Symbol): string[] {
    const [node] = symbol.declarations ?? []
    if (node === undefined) return []
    if (compiler.isFunctionDeclaration(node)) {
      const all = (symbol.declarations ?? []).filter(compiler.isFunctionDeclaration)
      return [fence(all.map((each) => signature(`function ${name}`, each)).join('\n')), named(entry, all)]
    }
    if (compiler.isVariableDeclaration(node)) return [fence(`const ${name}: ${shortened(textOf(node.type))}`), named(entry, [node])]
    if (compiler.isInterfaceDeclaration(node) || compiler.isClassDeclaration(node)) return [...head(entry, name, node), ...members(entry, node, symbol)]
    if (!compiler.isTypeAliasDeclaration(node)) return []
    if (compiler.isTypeLiteralNode(node.type)) return members(entry, node.type, symbol)
    const type = checker.getDeclaredTypeOfSymbol(symbol)
    const start = `type ${name}${brokenGenerics(`type ${name}`, node)}`
    const names = namesOf(type)
    if (names.length > 0) return [fence(`${start} =${union(names)}`)]
    if (!hasUnknownNames(node.type)) return [fence(`${start} = ${textOf(node.type)}`), named(entry, [node])]
    const all =
      node.typeParameters === undefined && checker.getSignaturesOfType(type, compiler.SignatureKind.Call).length === 0 ? checker.getPropertiesOfType(type) : []
    return all.length === 0 || type.flags & compiler.TypeFlags.StringLike ? [fence(start)] : properties(entry, all)
  }

  /** The names that a type is a union of, quoted; none for any other type. */
  function namesOf(type: ts.Type): string[] {
    if (!type.isUnion()) return []
    const names = type.types.flatMap((each) => (each.isStringLiteral() ? [`'${each.value}'`] : []))
    return names.length === type.types.length ? names : []
  }

  /**
   * True for a type that is made of types of this build that are not exported: they say nothing to
   * a reader.
   */
  function hasUnknownNames(node: ts.Node): boolean {
    const symbol = compiler.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined
    const target = symbol && resolved(symbol)
    const [declaration] = target?.declarations ?? []
    if (target !== undefined && declaration !== undefined && isTopLevel(declaration) && declaration.getSourceFile().fileName.startsWith(folder)) {
      if (!places.has(target)) return true
    }
    return compiler.forEachChild(node, (each) => hasUnknownNames(each) || undefined) === true
  }

  /** What a class or an interface takes and what it extends. */
  function head(entry: string, name: string, node: ts.InterfaceDeclaration | ts.ClassDeclaration): string[] {
    const bases = (node.heritageClauses ?? []).flatMap(({ types }) => types)
    const start = `${compiler.isClassDeclaration(node) ? 'class' : 'interface'} ${name}`
    const typed = node.typeParameters === undefined ? [] : [fence(start + brokenGenerics(start, node))]
    return [...typed, ...(bases.length === 0 ? [] : [`Extends ${bases.map((base) => code(entry, base)).join(', ')}.`])]
  }

  function members(entry: string, node: ts.InterfaceDeclaration | ts.ClassDeclaration | ts.TypeLiteralNode, symbol: ts.Symbol): string[] {
    const own = [...(node.members as ts.NodeArray<ts.Declaration>)].filter((each) => isShown(each))
    const fields = own.filter(
      (each): each is ts.PropertySignature | ts.PropertyDeclaration => !isCallable(each) && each.kind !== compiler.SyntaxKind.IndexSignature,
    )
    const list = fields.map((each) => item(`${nameOf(each)}${each.questionToken ? '?' : ''}`, code(entry, each.type), docsOfNode(each)))
    const callables = new Map<string, ts.SignatureDeclaration[]>()
    for (const each of own) if (isCallable(each)) callables.set(nameOf(each), [...(callables.get(nameOf(each)) ?? []), each])
    const methods = [...callables].flatMap(([name, all]) => {
      const words = all.map(docsOfNode).find((each) => each !== '') ?? ''
      // Of a class, an override of a peer's method and a constructor may have nothing to say.
      if (words === '' && compiler.isClassDeclaration(node)) return []
      const title = name === 'constructor' ? `new ${symbol.name}` : name
      const shown = fence(all.map((each) => signature(title, each)).join('\n'))
      return [`#### ${symbol.name === '__type' ? '' : `${symbol.name}.`}${name}`, words, shown, named(entry, all)].filter((part) => part !== '').join('\n\n')
    })
    return [list.join('\n'), ...methods]
  }

  function isShown(node: ts.Declaration): boolean {
    if (compiler.getCombinedModifierFlags(node) & ModifierFlags.Private) return false
    const { name } = node as ts.NamedDeclaration
    return name === undefined || !(compiler.isPrivateIdentifier(name) || compiler.isComputedPropertyName(name))
  }

  function isCallable(node: ts.Declaration): node is ts.SignatureDeclaration & ts.Declaration {
    return (
      compiler.isMethodSignature(node) ||
      compiler.isMethodDeclaration(node) ||
      compiler.isConstructorDeclaration(node) ||
      compiler.isCallSignatureDeclaration(node)
    )
  }

  function nameOf(node: ts.Declaration): string {
    if (compiler.isConstructorDeclaration(node)) return 'constructor'
    return (node as ts.NamedDeclaration).name?.getText() ?? 'call'
  }

  /** The members of a type that is computed, as the compiler knows them. */
  function properties(entry: string, all: readonly ts.Symbol[]): string[] {
    const rows = all.map((each) => {
      const own = checker.getTypeOfSymbol(each)
      const text = checker.typeToString(own, undefined, compiler.TypeFormatFlags.NoTruncation | compiler.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope)
      return item(`${each.name}${each.flags & SymbolFlags.Optional ? '?' : ''}`, linkedNames(entry, text.replace(/ \| undefined$/, '')), docsOf(each))
    })
    return [rows.join('\n')]
  }

  /** Names in a text, as links to the exports of this entry point. */
  function linkedNames(entry: string, text: string): string {
    const linked = text.split(/\b([A-Z]\w+)\b/).map((part, i) => {
      const symbol = i % 2 === 1 ? exported[entry]?.get(part) : undefined
      return symbol === undefined ? escaped(part) : anchored(entry, part, symbol)
    })
    return `<code v-pre>${linked.join('')}</code>`
  }

  function anchored(entry: string, text: string, symbol: ts.Symbol): string {
    const place = places.get(symbol)
    if (place === undefined) return escaped(text)
    return `<a href="${place.entry === entry ? '' : `./${place.entry}.html`}#${place.anchor}">${escaped(text)}</a>`
  }

  /** A type as code, with links from names to their exports. */
  function code(entry: string, node: ts.Node | undefined): string {
    if (node === undefined) return ''
    const source = node.getSourceFile().text
    const start = node.getStart()
    const parts: string[] = []
    let done = start
    for (const { node: name, symbol } of namesIn(node)) {
      parts.push(escaped(flat(source.slice(done, name.getStart()))), anchored(entry, name.getText(), symbol))
      done = name.getEnd()
    }
    parts.push(escaped(flat(source.slice(done, node.getEnd()))))
    return `<code v-pre>${parts.join('').trim()}</code>`
  }

  /** The names of exports in a node, in order. */
  function namesIn(node: ts.Node): { readonly node: ts.Identifier; readonly symbol: ts.Symbol }[] {
    const found: { node: ts.Identifier; symbol: ts.Symbol }[] = []
    const look = (each: ts.Node) => {
      const symbol = compiler.isIdentifier(each) ? checker.getSymbolAtLocation(each) : undefined
      const target = symbol && resolved(symbol)
      if (target !== undefined && places.has(target) && compiler.isIdentifier(each)) found.push({ node: each, symbol: target })
      compiler.forEachChild(each, look)
    }
    look(node)
    return found
  }

  /** Links for the exports that a signature names. */
  function named(entry: string, nodes: readonly ts.Node[]): string {
    const links = new Set<string>()
    for (const each of nodes) for (const { node, symbol } of namesIn(each)) if (node.parent !== each) links.add(anchored(entry, node.getText(), symbol))
    return links.size === 0 ? '' : `<p class="named">${[...links].map((link) => `<code v-pre>${link}</code>`).join(' ')}</p>`
  }

  /** The docstring of a symbol as Markdown. */
  function docsOf(symbol: ts.Symbol): string {
    const words = compiler.displayPartsToString(symbol.getDocumentationComment(checker))
    const examples = symbol.getJsDocTags(checker).filter(({ name }) => name === 'example')
    return [written(words.trim()), ...examples.map(({ text }) => fence(compiler.displayPartsToString(text).trim()))].filter((part) => part !== '').join('\n\n')
  }

  function docsOfNode(node: ts.Node): string {
    const comments = compiler.getJSDocCommentsAndTags(node).filter(compiler.isJSDoc)
    return comments.map(({ comment }) => written((compiler.getTextOfJSDocComment(comment) ?? '').trim())).join('\n\n')
  }

  /** A signature; its parameters have a line each where it would be long. */
  function signature(start: string, node: ts.SignatureDeclaration): string {
    const params = node.parameters.map(textOf)
    const result = node.type === undefined ? '' : `: ${textOf(node.type)}`
    const line = `${start}${generics(node)}(${params.join(', ')})${result}`
    if (line.length <= WIDTH) return line
    const typed = brokenGenerics(start, node)
    if (params.length === 0) return `${start}${typed}()${result}`
    return `${start}${typed}(\n${params.map((each) => `  ${each.replaceAll('\n', '\n  ')},`).join('\n')}\n)${result}`
  }

  /** Type parameters; they have a line each where they would be long. */
  function brokenGenerics(start: string, node: Generic): string {
    const whole = generics(node)
    if (node.typeParameters === undefined || whole.length <= WIDTH - start.length) return whole
    return `<\n${node.typeParameters.map((each) => `  ${textOf(each)},`).join('\n')}\n>`
  }

  function generics(node: Generic): string {
    return node.typeParameters === undefined ? '' : `<${node.typeParameters.map(textOf).join(', ')}>`
  }
}

interface Generic {
  readonly typeParameters?: ts.NodeArray<ts.TypeParameterDeclaration> | undefined
}

/** Lines of code are at most this long, where they can be broken. */
const WIDTH = 90

function kindOf({ flags }: ts.Symbol): string {
  if (flags & SymbolFlags.Function) return 'Functions'
  if (flags & SymbolFlags.Class) return 'Classes'
  return flags & SymbolFlags.Variable ? 'Constants' : 'Types'
}

/** A member: its name, its type, and below them what it is. */
function item(name: string, type: string, words: string): string {
  const below = words === '' ? '' : `\n\n${words.replaceAll(/^(?=.)/gm, '  ')}\n`
  return `- **\`${name}\`** ${type}${below}`
}

function fence(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``
}

/** The words of a docstring: its indented code is a block, and pages that it names are links. */
function written(words: string): string {
  return words
    .replaceAll(/^ {4}.*(?:\n+ {4}.*)*/gm, (code) => fence(code.replaceAll(/^ {4}/gm, '')))
    .replaceAll(/(?<![\w`/])docs\/([\w-]+\.md)/g, '[$1](../$1)')
}

/** A node as it is written, with an indentation of two spaces that begins at the node. */
function textOf(node: ts.Node | undefined): string {
  if (node === undefined) return 'unknown'
  const { text } = node.getSourceFile()
  const line = text.lastIndexOf('\n', node.getStart()) + 1
  const [outside = ''] = /^ */.exec(text.slice(line)) ?? []
  return node.getText().replaceAll(/\n( *)/g, (_, spaces: string) => `\n${' '.repeat(Math.ceil(Math.max(0, spaces.length - outside.length) / 2))}`)
}

/** Literals, in lines that are not too long. */
function union(parts: readonly string[]): string {
  const lines = ['']
  for (const part of parts) {
    const line = `${lines.at(-1)} | ${part}`
    if (line.length > WIDTH) lines.push(`  | ${part}`)
    else lines[lines.length - 1] = line
  }
  return lines.length === 1 ? ` ${(lines[0] as string).slice(3)}` : `\n  ${(lines[0] as string).trimStart()}\n${lines.slice(1).join('\n')}`
}

function isTopLevel(node: ts.Node): boolean {
  const holder = compiler.isVariableDeclaration(node) ? node.parent.parent.parent : node.parent
  return holder !== undefined && compiler.isSourceFile(holder)
}

/** Code in one line, without `readonly` and comments. */
function flat(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\breadonly (?=[\w'"]+\??:)/g, '')
    .replaceAll(/\s+/g, ' ')
}

/** The type of a constant, whose members may be many. */
function shortened(text: string): string {
  const lines = text.split('\n')
  return lines.length <= 12 ? lines.join('\n') : [...lines.slice(0, 6), '  // …', ...lines.slice(-1)].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
