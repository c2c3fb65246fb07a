import { readFileSync } from 'node:fs'
import { isHeavy, type MethodName, methods } from '../../src/eth/methods.ts'
import { anchorOf } from './anchor.ts'
import { compiler } from './compiler.ts'

/** One method, as its row of the table declares it. */
interface Declared {
  readonly words: string
  /** Its arguments and its result, as TypeScript. */
  readonly args: string
  readonly result: string
}

/**
 * The page of all methods. `declarations` is the path of the declarations of `src/eth/methods.ts`.
 */
export function methodsPage(declarations: string): string {
  const declared = rows(declarations)
  const names = Object.keys(methods) as MethodName[]
  const index = names.map((name) => `- [\`${name}\`](#${anchorOf(name)}): ${lowered(firstSentence(declared[name]?.words ?? ''))}`)
  return `# Methods

\`client.call(method, ...arguments)\` checks the arguments of these ${names.length} methods and decodes their results. Amounts, gas, block numbers and timestamps are \`bigint\`, counts and indexes \`number\`, hashes and addresses hex: [client.md](client.md#values) has the rule. \`client.request\` sends any other method as it is.

A \`BlockNumber\` is a number, a bigint, hex, or a tag such as \`latest\` or \`finalized\`. A \`BlockId\` may also be \`{ blockHash }\`. Left out or null, it is \`latest\`; for \`eth_estimateGas\`, what the node takes by default.

This page is made from the docstrings of [\`src/eth/methods.ts\`](../src/eth/methods.ts).

${index.join('\n')}

${names.map((name) => section(name, declared[name])).join('\n\n')}
`
}

function section(name: MethodName, row: Declared | undefined): string {
  if (row === undefined || row.words === '') throw new Error(`src/eth/methods.ts: ${name} has no docstring`)
  const notes = isHeavy(name) ? ['Nodes take long for it, so it travels apart from quicker calls.'] : []
  return [`## ${name}`, [row.words, ...notes].join(' '), `- arguments: ${row.args === '' ? 'none' : `\`${row.args}\``}\n- result: \`${row.result}\``].join(
    '\n\n',
  )
}

function rows(declarations: string): Readonly<Record<string, Declared>> {
  const source = compiler.createSourceFile(declarations, readFileSync(declarations, 'utf8'), compiler.ScriptTarget.ES2022, true)
  const found: Record<string, Declared> = {}
  const { forEachChild, isPropertySignature, isTypeReferenceNode, isVariableDeclaration } = compiler
  forEachChild(source, function look(node): void {
    if (isVariableDeclaration(node) && node.name.getText() !== 'methods') return
    if (!isPropertySignature(node) || node.type === undefined || !isTypeReferenceNode(node.type)) {
      forEachChild(node, look)
      return
    }
    const [args, result] = (node.type.typeArguments ?? []).map((each) => readable(each.getText()))
    const words = compiler.getJSDocCommentsAndTags(node).map(({ comment }) => compiler.getTextOfJSDocComment(comment) ?? '')
    found[node.name.getText()] = { words: words.join(' ').replaceAll('\n', ' '), args: args?.slice(1, -1) ?? '', result: result ?? '' }
  })
  return found
}

/** A type with the names that the API has for it. */
function readable(type: string): string {
  return type
    .replaceAll(/`0x\$\{string\}`/g, 'Hex')
    .replaceAll(/import\("[^"]*"\)\./g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('Block<boolean>', 'Block')
}

/** Its first letter small, unless the word is a name. */
function lowered(words: string): string {
  return words.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase())
}

function firstSentence(words: string): string {
  return /^.*?\.(?= |$)/.exec(words)?.[0].slice(0, -1) ?? words
}
