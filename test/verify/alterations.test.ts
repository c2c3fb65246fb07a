import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Block, IntegrityError, type Receipt } from '../../src/index.ts'
import { type Verification, verifyBlock } from '../../src/index-bulk.ts'
import { mineAnvilBlock } from '../support/anvil-blocks.ts'
import { hasCorpus, noCorpus } from '../support/corpus.ts'
import { type DecodedBlock, decodedBlocks, madeBlock } from '../support/decoded-blocks.ts'
import { runs } from '../support/runs.ts'

/*
 * Whatever is altered, removed, added or reordered in a block or its receipts is found and named.
 * The exceptions stand here, each with its reason, and in docs/verification.md.
 */

/** Fields that nothing proves. The result names those of them that a block has. */
const UNCOVERED: Readonly<Record<string, string>> = {
  totalDifficulty: 'the sum over all blocks before',
  uncles: 'which uncles: their headers are not part of the block',
  size: 'of a block with uncles, or of a local node',
  sendCount: 'of Arbitrum: a copy of what mixHash holds',
  sendRoot: 'of Arbitrum: a copy of extraData',
  l1BlockNumber: 'of Arbitrum: a copy of what mixHash holds',
  'transactions.chainId': 'of a transaction from before EIP-155',
  'transactions.gasPrice': 'of chains with other prices than Ethereum',
  'transactions.authorizationList.authority': 'of some nodes: the account that signed the authorization',
  'receipts.status': 'before Byzantium, a node may add it',
  'receipts.effectiveGasPrice': 'of chains with other prices than Ethereum',
  'receipts.blobGasPrice': 'its formula changes with forks of parameters only, which a header does not show',
  'receipts.blockTimestamp': 'kept as sent',
  'receipts.l1BlockNumber': 'of Arbitrum',
  'receipts.gasUsedForL1': 'of Arbitrum',
  'receipts.depositNonce': 'of the OP Stack before Canyon',
}

/** Fields that a node may leave out: without them, nothing false is said. */
const MAY_BE_ABSENT = [
  // Repeated elsewhere.
  ...['transactions.blockTimestamp', 'receipts.logs.blockTimestamp', 'transactions.v', 'transactions.yParity', 'transactions.chainId', 'transactions.gasPrice'],
  ...['receipts.type', 'receipts.to', 'receipts.contractAddress', 'receipts.effectiveGasPrice', 'receipts.blobGasUsed', 'receipts.logs.removed', 'size'],
  // Absent means null, 0 or empty.
  ...[
    'difficulty',
    'transactions.to',
    'transactions.accessList',
    'transactions.accessList.storageKeys',
    'withdrawals',
    'transactions.blobVersionedHashes',
    'uncles',
  ],
]

type Path = readonly (string | number)[]
interface Pair {
  readonly block: Block<true>
  readonly receipts: Receipt[] | undefined
}

/** A change of one place. */
interface Alteration {
  readonly kind: 'alter' | 'remove' | 'duplicate' | 'reorder'
  /** In `{ block, receipts }`. */
  readonly path: Path
}

/** Every change of one place in a block and its receipts. */
function alterationsOf(value: unknown, path: Path = []): Alteration[] {
  if (Array.isArray(value)) {
    const items = value.flatMap((item, i) => [
      ...alterationsOf(item, [...path, i]),
      { kind: 'remove' as const, path: [...path, i] },
      { kind: 'duplicate' as const, path: [...path, i] },
    ])
    const swaps = value.flatMap((item, i) => (i > 0 && !isEqual(item, value[i - 1]) ? [{ kind: 'reorder' as const, path: [...path, i] }] : []))
    return [...items, ...swaps]
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, field]) => {
      const removed: Alteration[] = path.length === 0 || field === null || field === undefined ? [] : [{ kind: 'remove', path: [...path, name] }]
      return field === undefined ? [] : [...alterationsOf(field, [...path, name]), ...removed]
    })
  }
  return [{ kind: 'alter', path }]
}

function isEqual(a: unknown, b: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each))
  return text(a) === text(b)
}

/** The pair with one place changed; the original stays as it is. */
function altered(pair: Pair, { kind, path }: Alteration): Pair {
  const copy = structuredClone(pair)
  const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], copy)
  const last = path.at(-1) as string | number
  if (kind === 'alter') (parent as Record<string | number, unknown>)[last] = another((parent as Record<string | number, unknown>)[last])
  else if (kind === 'remove' && typeof last === 'string') delete (parent as Record<string, unknown>)[last]
  else {
    const list = parent as unknown[]
    const at = last as number
    if (kind === 'remove') list.splice(at, 1)
    else if (kind === 'duplicate') list.splice(at, 0, structuredClone(list[at]))
    else list.splice(at - 1, 2, list[at], list[at - 1])
  }
  return copy
}

/** Another value of the same kind. */
function another(value: unknown): unknown {
  if (typeof value === 'bigint') return value ^ 1n
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (value === null) return `0x${'11'.repeat(20)}`
  const text = value as string
  if (text === '0x') return '0x00'
  return text.slice(0, -1) + (text.endsWith('1') ? '2' : '1')
}

/** The name of a field without the indexes in its path. */
function nameOf(path: Path): string {
  const steps = path[0] === 'block' ? path.slice(1) : path
  return steps.filter((step) => typeof step === 'string').join('.')
}

/** Throws if an alteration is not found, or if the error does not name it. */
async function expectFound(pair: Pair, alteration: Alteration, options: { readonly chainId?: number }): Promise<void> {
  const { block, receipts } = altered(pair, alteration)
  const name = nameOf(alteration.path)
  // Recovering senders is slow, and needed only where a sender may be the only thing that is wrong.
  const senders = name === 'transactions.from'
  const outcome: unknown = await verifyBlock(block, receipts, { ...options, senders }).catch((error) => error)
  const at = `${alteration.kind} ${alteration.path.join('.')}`
  if (outcome instanceof IntegrityError) {
    expect(outcome.field, at).toBeTypeOf('string')
    expect(outcome.message, at).toContain(`block ${block.number}: ${outcome.field}: expected ${outcome.expected}, found ${outcome.found}`)
    // The error is about the same part of the block; a receipt also repeats its transaction.
    const part = String(['transactions', 'withdrawals', 'uncles', 'receipts'].find((each) => name === each || name.startsWith(`${each}.`)) ?? 'header')
    const isNamed =
      outcome.field === name || partOf(outcome.field as string) === part || (part === 'transactions' && partOf(outcome.field as string) === 'receipts')
    expect(isNamed, `${at}: ${outcome.message}`).toBe(true)
    return
  }
  if (outcome instanceof Error) throw outcome
  const { uncovered } = outcome as Verification
  if (alteration.kind === 'remove' && MAY_BE_ABSENT.includes(name)) return
  // A field that is listed, and that this result names.
  const isListed =
    (Object.hasOwn(UNCOVERED, name) || isForeign(name, pair.block, alteration.path)) && (uncovered.includes(name) || alteration.kind === 'remove')
  expect(isListed, `${at} was not found: ${JSON.stringify(outcome)}`).toBe(true)
}

/**
 * Fields that layer 2 systems add to receipts, and those that the hash of a system's transaction
 * leaves out.
 */
function isForeign(name: string, { transactions }: Block<true>, path: Path): boolean {
  const index = path[0] === 'receipts' ? path[1] : path[2]
  const isOfSystem = typeof index === 'number' && (transactions[index]?.type ?? 0) > 4
  return isOfSystem || /^receipts\.l1(?:Fee|FeeScalar|GasPrice|GasUsed)$/.test(name)
}

/** The part of a block that an error is about. */
function partOf(field: string): string {
  if (field === 'logsBloom') return 'receipts'
  return ['transactions', 'withdrawals', 'uncles', 'receipts'].find((each) => field.startsWith(each)) ?? 'header'
}

describe('every alteration is found and named', () => {
  let anvil: Awaited<ReturnType<typeof mineAnvilBlock>>
  beforeAll(async () => {
    anvil = await mineAnvilBlock()
  })

  test('in a made block with transactions of all types, withdrawals and the header of every fork', async () => {
    const pair = await madeBlock()
    const all = alterationsOf(pair)
    expect(all.length).toBeGreaterThan(500)
    for (const each of all) await expectFound(pair, each, { chainId: 1 })
  })

  test('in a block of anvil', async () => {
    for (const each of alterationsOf(anvil)) await expectFound(anvil, each, {})
  })

  const found = (name: string) => decodedBlocks().find((each) => each.name === name) as DecodedBlock

  test.skipIf(!hasCorpus).each(['mainnet-1000000', 'mainnet-DAO', 'arbitrum-150000000'])(
    `in the small block %s${hasCorpus ? '' : ` (${noCorpus})`}`,
    async (name) => {
      const { block, receipts, chainId } = found(name)
      for (const each of alterationsOf({ block, receipts })) await expectFound({ block, receipts }, each, { chainId })
    },
  )

  const large = hasCorpus ? decodedBlocks().filter(({ chainId, block }) => chainId !== 25 && block.transactions.length > 5) : []
  test.skipIf(!hasCorpus).each(large)(`in any place of $name${hasCorpus ? '' : ` (${noCorpus})`}`, async ({ block, receipts, chainId }) => {
    const all = alterationsOf({ block, receipts })
    const names = [...new Set(all.map(({ kind, path }) => `${kind} ${nameOf(path)}`))]
    // Each field as often as any other, however many transactions have it.
    const any = fc.constantFrom(...names).chain((name) => fc.constantFrom(...all.filter(({ kind, path }) => `${kind} ${nameOf(path)}` === name)))
    await fc.assert(
      fc.asyncProperty(any, (each) => expectFound({ block, receipts }, each, { chainId })),
      runs(30),
    )
  })
})
