import { readFileSync } from 'node:fs'
import { billed, type CostTable, costTables, throttled } from '../../src/eth/costs.ts'
import { isHeavy, isSafe, type MethodName, methodNames, methods } from '../../src/eth/methods.ts'
import { anchorOf } from './anchor.ts'
import { compiler } from './compiler.ts'
import { releases } from './releases.ts'

/** One method, as its row of the table declares it. */
interface Declared {
  readonly words: string
  /** Its arguments and its result, as TypeScript. */
  readonly args: string
  readonly result: string
  /** Address of the page that defines it. Absent for the methods of the service. */
  readonly source: string | undefined
}

/**
 * The page of all methods. `folder` has the declarations of `src/eth`, as the build writes them.
 */
export function methodsPage(folder: string): string {
  const declared = { ...rowsOf(`${folder}/methods.d.ts`, 'methods'), ...rowsOf(`${folder}/node-methods.d.ts`, 'nodeMethods') }
  const ofService = Object.keys(methods) as MethodName[]
  const others = methodNames.filter((name) => !ofService.includes(name))
  return `# Methods

\`client.call(method, ...arguments)\` checks the arguments of these ${methodNames.length} methods and decodes their results: the ${ofService.length} of [the service](service.md), and ${others.length} others that nodes answer. Amounts, gas, block numbers and timestamps are \`bigint\`, counts and indexes \`number\`, hashes and addresses hex: [client.md](client.md#values) has the rule. What hexline does not know stays as the node sent it. \`client.request\` sends any other method as it is.

A \`BlockNumber\` is a number, a bigint, hex, or a tag such as \`latest\` or \`finalized\`. A \`BlockId\` may also be \`{ blockHash }\`. Left out or null, it is \`latest\`; for \`eth_estimateGas\`, what the node takes by default.

Not every node has every method: \`await client.supports('trace_block')\` is true, false, or undefined where the endpoint did not say.

The result of a \`debug_trace\` method is that of its tracer: \`{ tracer: 'callTracer' }\` gives a \`CallFrame\`, \`prestateTracer\` a \`Prestate\`, with \`diffMode\` a \`PrestateDiff\`, \`4byteTracer\` \`SelectorCounts\`, \`flatCallTracer\` a \`Trace[]\`, and no tracer a \`StructTrace\`. The result of any other tracer stays as sent.

\`getBlocks\` of \`hexline/bulk\` joins a block's traces, and checks that they are those of its transactions: [blocks.md](blocks.md).

Costs are what providers charge for a call; if their limit per second counts a call differently, that figure follows a slash. A method that a provider does not list by name has the provider's usual cost; a blank cell means that none was found. A method is repeated after a lost reply if that does no harm.

This page is made from the docstrings of [\`src/eth/methods.ts\`](../src/eth/methods.ts) and [\`src/eth/node-methods.ts\`](../src/eth/node-methods.ts), and from the tables of costs and releases. For machines: [openrpc.json](api/openrpc.json) has the methods of the service, [openrpc-nodes.json](api/openrpc-nodes.json) the others.

${table(ofService, declared)}

${table(others, declared)}

${[...ofService, ...others].map((name) => section(name, declared[name])).join('\n\n')}
`
}

/** The methods at a glance. */
function table(names: readonly MethodName[], declared: Readonly<Record<string, Declared>>): string {
  const providers = costTables.map(({ provider }) => provider)
  const head = ['method', 'what it gives', 'result', 'repeated', ...providers]
  const lines = names.map((name) => {
    const { words = '', result = '' } = declared[name] ?? {}
    const cells = [`[\`${name}\`](#${anchorOf(name)})`, lowered(firstSentence(words)), `\`${result}\``, isSafe(name) ? 'yes' : 'no']
    return [...cells, ...costTables.map((costs) => (isUnknown(costs, name) ? '' : costOf(billed(costs, name), throttled(costs, name))))]
  })
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

/** A provider's table without a row for traces says nothing of them. */
function isUnknown({ groups }: CostTable, name: string): boolean {
  return /^(?:debug|trace)_/.test(name) && groups.length === 0
}

function costOf(price: number, units: number): string {
  return price === units ? String(price) : `${price} / ${units}`
}

function section(name: MethodName, row: Declared | undefined): string {
  if (row === undefined || row.words === '') throw new Error(`src/eth: ${name} has no docstring`)
  const notes = isHeavy(name) ? ['Nodes take long for it, so it travels apart from quicker calls.'] : []
  const since = releases[name]?.map(({ name: release, source }) => `[${release}](${source})`)
  const facts = [
    `arguments: ${row.args === '' ? 'none' : `\`${row.args}\``}`,
    `result: \`${row.result}\``,
    ...(isSafe(name) ? [] : ['not simply repeated after a lost reply']),
    ...(since === undefined ? [] : [`since: ${since.join(', ')}`]),
    ...(row.source === undefined ? [] : [`source: <${row.source}>`]),
  ]
  return [`## ${name}`, [row.words, ...notes].join(' '), facts.map((fact) => `- ${fact}`).join('\n')].join('\n\n')
}

/** The rows of a table in a file of declarations, by the name of the table. */
export function rowsOf(declarations: string, table: string): Readonly<Record<string, Declared>> {
  const source = compiler.createSourceFile(declarations, readFileSync(declarations, 'utf8'), compiler.ScriptTarget.ES2022, true)
  const found: Record<string, Declared> = {}
  const { forEachChild, isImportTypeNode, isPropertySignature, isTypeReferenceNode, isVariableDeclaration } = compiler
  forEachChild(source, function look(node): void {
    if (isVariableDeclaration(node) && node.name.getText() !== table) return
    if (!isPropertySignature(node) || node.type === undefined || !(isTypeReferenceNode(node.type) || isImportTypeNode(node.type))) {
      forEachChild(node, look)
      return
    }
    const [args, result] = (node.type.typeArguments ?? []).map((each) => readable(each.getText()))
    const comments = compiler.getJSDocCommentsAndTags(node).filter((each) => compiler.isJSDoc(each))
    const words = comments.map(({ comment }) => compiler.getTextOfJSDocComment(comment) ?? '')
    const page = comments.map((each) => /@see (https:\S+)/.exec(each.getText())?.[1]).find((each) => each !== undefined)
    found[node.name.getText()] = { words: words.join(' ').replaceAll('\n', ' '), args: args?.slice(1, -1) ?? '', result: result ?? '', source: page }
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
