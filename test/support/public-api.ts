import { fileURLToPath } from 'node:url'
import { compiler } from '../../docs/site/compiler.ts'
import { entriesOfPackage } from '../../docs/site/entries.ts'
import type ts from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'

/*
 * The public API as text, read from the declarations of a build. A type that an entry point exports
 * is shown by its name, and so is one of a dependency. Any other type is shown by its structure, so
 * that neither its name nor its file matters. Members and the parts of unions are sorted.
 */

const { SymbolFlags, TypeFlags, ObjectFlags, ModifierFlags, SignatureKind } = compiler

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The declaration file of each entry point, relative to the folder of a build. */
export const entries = entriesOfPackage()

/**
 * Examples of generic types that are only known once their parameters are, by entry point and name.
 */
const examples: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  hexline: { MethodParams: ['each MethodName'], MethodResult: ['each MethodName'] },
  bulk: {
    RangeBlock: [
      "'hashes', false",
      "'full', true",
      "'hashes', false, readonly ['timestamp', 'transactions']",
      "'full', true, readonly ['transactions.from', 'receipts.status']",
      "'full', true, readonly ['transactions', 'receipts']",
    ],
  },
}

const options: ts.CompilerOptions = {
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true, types: ['node'] },
  ...{ lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'], target: compiler.ScriptTarget.ES2022 },
  ...{ module: compiler.ModuleKind.ESNext, moduleResolution: compiler.ModuleResolutionKind.Bundler },
}

/** Declaration files that were read, by path. Most belong to dependencies. */
const sources = new Map<string, ts.SourceFile | undefined>()

/**
 * The API of a build, by entry point. `dist` is the folder of the build, relative to the project.
 */
export function publicApi(dist: string): Record<string, string> {
  const folder = `${root}${dist}/`
  const names = Object.keys(entries)
  const files = names.map((entry) => folder + entries[entry])
  // The examples, as a program would write them.
  const asked = `${folder}examples.d.ts`
  const host = compiler.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (path, ...more) => {
    if (!sources.has(path)) sources.set(path, getSourceFile.call(host, path, ...more))
    return sources.get(path)
  }
  const methods = methodNames(compiler.createProgram(files, options, host), folder)
  const lines = names.flatMap((entry) =>
    Object.entries(examples[entry] ?? {}).flatMap(([name, all]) =>
      all
        .flatMap((each) => (each === 'each MethodName' ? methods : [each]))
        .map((args) => `export type ${name}_${Buffer.from(args).toString('hex')} = import('./${entries[entry]?.replace('.d.ts', '.js')}').${name}<${args}>`),
    ),
  )
  sources.set(asked, compiler.createSourceFile(asked, lines.join('\n'), compiler.ScriptTarget.ES2022))
  const program = compiler.createProgram([...files, asked], options, host)
  return Object.fromEntries(names.map((entry) => [entry, listed(program, folder, entry, asked)]))
}

function methodNames(program: ts.Program, folder: string): string[] {
  const checker = program.getTypeChecker()
  const symbol = exportsOf(program, folder, 'hexline').find(({ name }) => name === 'MethodName')?.symbol as ts.Symbol
  return (checker.getDeclaredTypeOfSymbol(symbol) as ts.UnionType).types.map((each) => checker.typeToString(each)).sort()
}

function exportsOf(program: ts.Program, folder: string, entry: string): { readonly name: string; readonly symbol: ts.Symbol }[] {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(folder + entries[entry])
  const module = file && checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${folder}${entries[entry]} is missing: npm run build makes it`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => ({ name: symbol.name, symbol: symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)) as never
}

function listed(program: ts.Program, folder: string, entry: string, asked: string): string {
  const checker = program.getTypeChecker()
  const all = Object.keys(entries).flatMap((each) => exportsOf(program, folder, each))
  const publicNames = new Map(all.map(({ name, symbol }) => [symbol, name]))
  const examined = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(asked) as ts.SourceFile) as ts.Symbol)
  /** Types whose structure is being shown. */
  const open: ts.Type[] = []

  const isForeign = (symbol: ts.Symbol) => symbol.declarations?.every((each) => !each.getSourceFile().fileName.startsWith(folder)) === true
  const plain = (type: ts.Type) =>
    checker.typeToString(type, undefined, compiler.TypeFormatFlags.NoTruncation | compiler.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope)

  return exportsOf(program, folder, entry)
    .map(({ name, symbol }) => declared(name, symbol))
    .join('\n\n')
    .concat('\n')

  function declared(name: string, symbol: ts.Symbol): string {
    if (symbol.flags & SymbolFlags.Class) return classed(name, symbol)
    if (symbol.flags & SymbolFlags.Function) {
      const signatures = checker.getTypeOfSymbol(symbol).getCallSignatures()
      return signatures.map((each) => `function ${name}${signed(each)}`).join('\n')
    }
    if (symbol.flags & SymbolFlags.Variable) return `const ${name}: ${shown(checker.getTypeOfSymbol(symbol))}`
    const type = checker.getDeclaredTypeOfSymbol(symbol)
    if (symbol.flags & SymbolFlags.Interface) {
      return `interface ${name}${parameters((type as ts.InterfaceType).typeParameters)}${heritage(type as ts.InterfaceType)} ${structure(type)}`
    }
    const head = `type ${name}${parameters(typeParametersOf(symbol))}`
    if (examples[entry]?.[name] === undefined) return `${head} = ${aliased(symbol) ?? structure(type)}`
    const given = examined.filter((each) => each.name.startsWith(`${name}_`))
    return [
      head,
      ...given.map((each) => {
        const args = Buffer.from(each.name.slice(name.length + 1), 'hex').toString()
        return `${name}<${args}> = ${structure(checker.getDeclaredTypeOfSymbol(each))}`.replace(/^/gm, '  ')
      }),
    ].join('\n')
  }

  /** The target of an alias for another named type, such as viem's `Transport`. */
  function aliased(symbol: ts.Symbol): string | undefined {
    const node = symbol.declarations?.find(compiler.isTypeAliasDeclaration)?.type
    if (node === undefined || !compiler.isTypeReferenceNode(node)) return undefined
    const found = checker.getSymbolAtLocation(node.typeName) as ts.Symbol
    const target = found.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found
    const name = publicNames.get(target) ?? (isForeign(target) ? target.name : undefined)
    if (name === undefined) return undefined
    const args = (node.typeArguments ?? []).map((each) => shown(checker.getTypeFromTypeNode(each)))
    return args.length === 0 ? name : `${name}<${args.join(', ')}>`
  }

  function typeParametersOf(symbol: ts.Symbol): ts.TypeParameter[] | undefined {
    const declaration = symbol.declarations?.find(compiler.isTypeAliasDeclaration)
    return declaration?.typeParameters?.map((each) => checker.getTypeAtLocation(each) as ts.TypeParameter)
  }

  function classed(name: string, symbol: ts.Symbol): string {
    const type = checker.getDeclaredTypeOfSymbol(symbol) as ts.InterfaceType
    const made = checker.getTypeOfSymbol(symbol)
    const constructors = made.getConstructSignatures().map((each) => `constructor${signed(each)}`)
    const statics = checker
      .getPropertiesOfType(made)
      .filter(
        (each) => each.name !== 'prototype' && !isForeign(each) && each.declarations?.some(({ parent }) => symbol.declarations?.includes(parent as never)),
      )
      .flatMap((each) => member(each).map((line) => `static ${line}`))
    return `class ${name}${parameters(type.typeParameters)}${heritage(type)} ${braces([...constructors, ...statics.sort(), ...members(type)])}`
  }

  function heritage(type: ts.InterfaceType): string {
    const shownBases = namedBases(type).map((base) => shown(base))
    return shownBases.length === 0 ? '' : ` extends ${shownBases.join(', ')}`
  }

  /** Its bases. A base without a public name is replaced by its own bases. */
  function namedBases(type: ts.Type): ts.Type[] {
    if (!((type as ts.ObjectType).objectFlags & ObjectFlags.ClassOrInterface)) return []
    return checker
      .getBaseTypes(type as ts.InterfaceType)
      .flatMap((base) => (nameOf(base) === undefined ? namedBases((base as ts.TypeReference).target ?? base) : [base]))
  }

  function isOfPeer({ symbol }: ts.Type): boolean {
    return symbol?.declarations?.every((each) => /\/node_modules\/(?:viem|ethers)\//.test(each.getSourceFile().fileName)) === true
  }

  /**
   * viem's chains are written out in the declarations of `chainFor`. The id shows which chain it
   * is.
   */
  function idOfChain(type: ts.Type): string | undefined {
    const [id, currency, urls] = ['id', 'nativeCurrency', 'rpcUrls'].map((name) => type.getProperty(name))
    return id && currency && urls && shown(checker.getTypeOfSymbol(id))
  }

  /** The name to show for a type, if there is one. */
  function nameOf(type: ts.Type): { readonly name: string; readonly args: readonly ts.Type[] } | undefined {
    for (const [symbol, args] of [
      [type.aliasSymbol, type.aliasTypeArguments],
      [type.symbol, (type as ts.ObjectType).objectFlags & ObjectFlags.Reference ? checker.getTypeArguments(type as ts.TypeReference) : undefined],
    ] as const) {
      if (symbol === undefined || symbol.name.startsWith('__')) continue
      // A constructor type is shown by the name of its class.
      if (
        type.symbol === symbol &&
        !((type as ts.ObjectType).objectFlags & (ObjectFlags.ClassOrInterface | ObjectFlags.Reference)) &&
        symbol.flags & SymbolFlags.Class
      )
        return { name: `typeof ${publicNames.get(symbol) ?? symbol.name}`, args: [] }
      const name = publicNames.get(symbol) ?? (isForeign(symbol) ? symbol.name : undefined)
      if (name === undefined) continue
      const count = ((type as ts.TypeReference).target as ts.InterfaceType | undefined)?.typeParameters?.length
      return { name, args: (symbol === type.aliasSymbol ? args : args?.slice(0, count)) ?? [] }
    }
    return undefined
  }

  function shown(type: ts.Type): string {
    if (checker.isArrayType(type)) {
      const [item] = checker.getTypeArguments(type as ts.TypeReference)
      const text = shown(item as ts.Type)
      const isReadonly = type.symbol.name === 'ReadonlyArray'
      return `${isReadonly ? 'readonly ' : ''}${/^[\w.'"]+(?:<.*>)?$/.test(text) ? text : `(${text})`}[]`
    }
    if (!(type.flags & (TypeFlags.Object | TypeFlags.UnionOrIntersection | TypeFlags.IndexedAccess)) || type.flags & TypeFlags.Boolean) return plain(type)
    const named = nameOf(type)
    if (named !== undefined) return named.args.length === 0 ? named.name : `${named.name}<${named.args.map(shown).join(', ')}>`
    return isOfPeer(type) ? '{ as declared by the peer }' : structure(type)
  }

  function structure(type: ts.Type): string {
    if (open.includes(type)) return 'itself'
    open.push(type)
    try {
      return structureOf(type)
    } finally {
      open.pop()
    }
  }

  function structureOf(type: ts.Type): string {
    if (checker.isTupleType(type)) return tuple(type as ts.TupleTypeReference)
    if (checker.isArrayType(type)) return shown(type)
    if (type.isUnion()) {
      const parts = new Set(type.types.map(shown))
      if (parts.has('true') && parts.has('false')) for (const each of ['true', 'false']) parts.delete(each)
      const isBoolean = type.types.some(({ flags }) => flags & TypeFlags.BooleanLiteral) && !parts.has('true') && !parts.has('false')
      return [...parts, ...(isBoolean ? ['boolean'] : [])]
        .map((each) => (each.includes('=>') && !each.startsWith('{') ? `(${each})` : each))
        .sort()
        .join(' | ')
    }
    if (type.isIntersection()) {
      // Objects are shown merged into one, if its fields are known.
      if (type.types.every((each) => each.flags & TypeFlags.Object && nameOf(each)?.name !== 'AsyncGenerator')) return object(type)
      return type.types
        .map((each) => (each.flags & (TypeFlags.Conditional | TypeFlags.Union) ? `(${shown(each)})` : shown(each)))
        .sort()
        .join(' & ')
    }
    if (type.flags & TypeFlags.Object) return object(type)
    if (!(type.flags & TypeFlags.IndexedAccess)) return plain(type)
    const { objectType, indexType } = type as ts.IndexedAccessType
    return `${shown(objectType)}[${shown(indexType)}]`
  }

  function tuple(type: ts.TupleTypeReference): string {
    const { labeledElementDeclarations: labels, elementFlags, readonly } = type.target
    const parts = checker.getTypeArguments(type).map((each, i) => {
      const flags = elementFlags[i] as ts.ElementFlags
      const label = labels?.[i]
      const rest = flags & compiler.ElementFlags.Variable ? '...' : ''
      const text = rest && !(flags & compiler.ElementFlags.Variadic) ? `(${shown(each)})[]` : shown(each)
      const optional = flags & compiler.ElementFlags.Optional ? '?' : ''
      return label === undefined ? `${rest}${text}${optional}` : `${rest}${label.name.getText()}${optional}: ${text}`
    })
    return `${readonly ? 'readonly ' : ''}[${parts.join(', ')}]`
  }

  function object(type: ts.Type): string {
    const id = idOfChain(type)
    if (id !== undefined) return `{ chain ${id} of viem }`
    const calls = type.getCallSignatures()
    const makes = type.getConstructSignatures()
    const lines = members(type)
    if (calls.length === 1 && makes.length === 0 && lines.length === 0) return signed(calls[0] as ts.Signature, ' => ')
    return braces([...makes.map((each) => `new ${signed(each)}`), ...calls.map((each) => signed(each)), ...lines])
  }

  function members(type: ts.Type): string[] {
    const inherited = new Set(namedBases(type).flatMap((base) => checker.getPropertiesOfType(base).map(({ name }) => name)))
    const isOwn = (each: ts.Symbol) => each.declarations?.some(({ parent }) => type.symbol?.declarations?.includes(parent as never))
    const indexes = checker
      .getIndexInfosOfType(type)
      .map(({ keyType, type: value, isReadonly }) => `${isReadonly ? 'readonly ' : ''}[key: ${shown(keyType)}]: ${shown(value)}`)
    const own = checker.getPropertiesOfType(type).filter((each) => isOwn(each) || !inherited.has(each.name))
    return [...indexes, ...own.flatMap((each) => member(each)).sort()]
  }

  /** A property or method; several lines for one with several signatures. */
  function member(symbol: ts.Symbol): string[] {
    const { getCheckFlags, getDeclarationModifierFlagsFromSymbol } = compiler as unknown as Record<string, (symbol: ts.Symbol) => number>
    const flags = getDeclarationModifierFlagsFromSymbol?.(symbol) ?? 0
    if (flags & ModifierFlags.Private) return []
    const isReadonly = flags & ModifierFlags.Readonly || (getCheckFlags?.(symbol) ?? 0) & 8 || (symbol.flags & SymbolFlags.Accessor) === SymbolFlags.GetAccessor
    if (symbol.name === '#private' || symbol.name.startsWith('__#')) return ['#private']
    const name = symbol.name.startsWith('__@') ? `[${symbol.name.slice(3).replace(/@\d+$/, '')}]` : quoted(symbol.name)
    const optional = symbol.flags & SymbolFlags.Optional ? '?' : ''
    const type = checker.getTypeOfSymbol(symbol)
    if (symbol.flags & SymbolFlags.Method)
      return checker.getSignaturesOfType(checker.getNonNullableType(type), SignatureKind.Call).map((each) => `${name}${optional}${signed(each)}`)
    return [`${isReadonly ? 'readonly ' : ''}${name}${optional}: ${shown(type)}`]
  }

  /** Type parameters, parameters and, after `before`, the result. */
  function signed(signature: ts.Signature, before: ': ' | ' => ' = ': '): string {
    const params = signature.getParameters().map((each) => {
      const declaration = each.valueDeclaration as ts.ParameterDeclaration | undefined
      const isRest = declaration?.dotDotDotToken !== undefined
      const optional = declaration !== undefined && !isRest && compiler.isParameter(declaration) && checker.isOptionalParameter(declaration) ? '?' : ''
      return `${isRest ? '...' : ''}${each.name.replace(/^__\d+$/, '_')}${optional}: ${shown(checker.getTypeOfSymbol(each))}`
    })
    const head = `${parameters(signature.typeParameters)}(${params.join(', ')})`
    const predicate = checker.getTypePredicateOfSignature(signature)
    const result = predicate?.type === undefined ? shown(signature.getReturnType()) : `${predicate.parameterName} is ${shown(predicate.type)}`
    return `${head}${before}${result}`
  }

  function parameters(all: readonly ts.TypeParameter[] | undefined): string {
    if (all === undefined || all.length === 0) return ''
    const parts = all.map((each) => {
      const [constraint, fallback] = [each.getConstraint(), each.getDefault()]
      return `${each.symbol.name}${constraint ? ` extends ${shown(constraint)}` : ''}${fallback ? ` = ${shown(fallback)}` : ''}`
    })
    return `<${parts.join(', ')}>`
  }
}

function quoted(name: string): string {
  return /^[\w$]+$/.test(name) ? name : `'${name}'`
}

function braces(lines: readonly string[]): string {
  if (lines.length === 0) return '{}'
  return `{\n${lines.join('\n').replace(/^/gm, '  ')}\n}`
}
