import { type Log as EthersLog, JsonRpcProvider } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { bulkActions, hexline } from 'hexline/viem'
import { type Address, createClient as createViemClient, type Hash, http, parseAbiItem, publicActions, testActions, toHex } from 'viem'
import { foundry } from 'viem/chains'
import { expect, onTestFinished } from 'vitest'
import { createClient } from '../../src/index.ts'
import { type AuditLevel, getLogs } from '../../src/index-bulk.ts'
import { startAnvil } from './anvil.ts'

const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
export const TRANSFER: Hash = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Two contracts that log transfers. */
export const contracts: readonly [Address, Address] = [`0x${'c1'.repeat(20)}`, `0x${'c2'.repeat(20)}`]
/** Who sends in even calls, and in odd calls. */
export const senders: readonly [Address, Address] = [`0x${'51'.repeat(20)}`, `0x${'52'.repeat(20)}`]

/**
 * A contract that takes three words: a number of logs, the first receiver, and the sender. It logs
 * `Transfer(sender, first receiver + i, i)`, with `i` from the number of logs less one to 0.
 */
export const transferCode: `0x${string}` = `0x${[
  '600035', // i = the number of logs
  '5b8015604257', // until i is 0:
  '60019003', // i = i - 1
  '80600052', // the data is i
  '8060203501604035', // the topics are the receiver, the sender,
  `7f${TRANSFER.slice(2)}`, // and the event
  '60206000a3600356', // log it, and go on
  '5b00',
].join('')}`

export interface TransferChain {
  readonly url: string
  readonly head: number
  readonly transfers: number
}

/**
 * An anvil with this many blocks and transfers: in one block of `spacing`, in one to three calls,
 * by turns to each contract.
 */
export async function startTransferChain(head: number, transfers: number, spacing: number): Promise<TransferChain> {
  // From Cancun on, each block adds to the storage of a contract, and each state root hashes all of
  // it: 50,000 blocks would take half an hour.
  const anvil = await startAnvil({ disableBlockGasLimit: true, hardfork: 'Shanghai', pruneHistory: true })
  onTestFinished(() => anvil.stop())
  const node = createViemClient({ chain: foundry, transport: http(anvil.url, { timeout: 300_000 }) })
    .extend(publicActions)
    .extend(testActions({ mode: 'anvil' }))
  // It would write several lines for each block.
  await node.setLoggingEnabled(false)
  for (const address of contracts) await node.setCode({ address, bytecode: transferCode })
  const [from] = (await node.request({ method: 'eth_accounts' } as never)) as [Address]
  await node.setAutomine(false)
  const word = (value: bigint | Address) => toHex(BigInt(value), { size: 32 }).slice(2)
  const loud = Math.floor(head / spacing)
  let calls = 0
  let left = transfers
  for (let i = 0; i < loud; i++) {
    // Blocks differ in their number of logs, and the last one has the rest.
    const ofBlock = i === loud - 1 ? left : Math.min(left, Math.floor((transfers / loud) * (0.5 + (i % 11) / 10)))
    left -= ofBlock
    const count = 1 + (i % 3)
    for (let part = 0; part < count; part++) {
      const logs = part === 0 ? ofBlock - (count - 1) * Math.floor(ofBlock / count) : Math.floor(ofBlock / count)
      const data = `0x${word(BigInt(logs))}${word(BigInt(1000 + calls * 7))}${word(senders[calls % 2] as Address)}` as const
      const transaction = { from, to: contracts[calls % contracts.length], data, gas: toHex(100_000 + logs * 2500) }
      await node.request({ method: 'eth_sendTransaction', params: [transaction] } as never)
      calls++
    }
    await node.mine({ blocks: 1 })
    await node.mine({ blocks: spacing - 1 })
  }
  if (head > loud * spacing) await node.mine({ blocks: head - loud * spacing })
  expect(Number(await node.getBlockNumber())).toBe(head)
  return { url: anvil.url, head, transfers }
}

export interface TransferFilter {
  readonly address?: Address | Address[]
  readonly topics?: (Hash | null)[]
}

/** The logs of a chain by hexline, as text with one line for each log. */
export async function logsOfHexline({ url, head }: TransferChain, filter: TransferFilter, audit: AuditLevel = 'none') {
  const client = createClient(url, { deadlineMs: 300_000 })
  try {
    const logs = getLogs(client, { ...filter, from: 0n, to: BigInt(head), audit })
    const lines: string[] = []
    for await (const log of logs) lines.push(lineOf(log))
    return { lines, audit: logs.audit }
  } finally {
    await client.close()
  }
}

/** The same by viem's `getLogs` over its own transport, in ranges of `size` blocks. */
export async function logsOfViem({ url, head }: TransferChain, { address, topics = [] }: TransferFilter, size: number): Promise<string[]> {
  const client = createViemClient({ chain: foundry, transport: http(url, { timeout: 300_000 }) }).extend(publicActions)
  const lines: string[] = []
  for (const [fromBlock, toBlock] of ranges(head, size)) {
    const logs = await client.getLogs({
      ...(address !== undefined && { address }),
      ...argsOf(topics),
      fromBlock: BigInt(fromBlock),
      toBlock: BigInt(toBlock),
    } as object)
    for (const { args: _, eventName: __, ...log } of logs as unknown as Record<string, unknown>[]) lines.push(lineOf(log))
  }
  return lines
}

/** The same by ethers' own provider, as ethers gives them. */
export async function logsOfEthers({ url, head }: TransferChain, filter: TransferFilter, size: number): Promise<string[]> {
  const provider = new JsonRpcProvider(url, foundry.id, { staticNetwork: true, cacheTimeout: -1 })
  try {
    const logs: EthersLog[] = []
    for (const [fromBlock, toBlock] of ranges(head, size)) logs.push(...(await provider.getLogs({ ...filter, fromBlock, toBlock })))
    return logs.map((log) => JSON.stringify(log.toJSON()))
  } finally {
    provider.destroy()
  }
}

/** The same by one call of `HexlineProvider.getLogs`. */
export async function logsOfHexlineProvider({ url, head }: TransferChain, filter: TransferFilter): Promise<string[]> {
  const provider = new HexlineProvider(url, foundry.id, { staticNetwork: true })
  try {
    return (await provider.getLogs({ ...filter, fromBlock: 0, toBlock: head })).map((log) => JSON.stringify(log.toJSON()))
  } finally {
    provider.destroy()
  }
}

/** Transfers of one sender, decoded: by `getLogsInRange`, and by viem's own `getLogs` in ranges. */
export async function decodedTransfers({ url, head }: TransferChain, from: Address, size: number): Promise<{ inRange: string[]; byViem: string[] }> {
  const client = createViemClient({ chain: foundry, transport: hexline(url) }).extend(bulkActions())
  const viem = createViemClient({ chain: foundry, transport: http(url, { timeout: 300_000 }) }).extend(publicActions)
  const filter = { address: [...contracts], event: transfer, args: { from } }
  const inRange: string[] = []
  const byViem: string[] = []
  try {
    for await (const log of client.getLogsInRange({ ...filter, fromBlock: 0n, toBlock: BigInt(head), audit: 'none' })) inRange.push(lineOf(log))
  } finally {
    await client.transport.client.close()
  }
  for (const [fromBlock, toBlock] of ranges(head, size)) {
    for (const log of await viem.getLogs({ ...filter, fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock) })) byViem.push(lineOf(log))
  }
  return { inRange, byViem }
}

/**
 * The line of `logsOfHexline` as ethers would have it: by its names, and without its type of value.
 */
export function ethersFields(line: string): string {
  const log = JSON.parse(line) as Record<string, unknown>
  const plain = (value: unknown) => Number(String(value).replace(/n$/, ''))
  return JSON.stringify([
    log.blockHash,
    plain(log.blockNumber),
    log.transactionHash,
    log.transactionIndex,
    log.address,
    log.topics,
    log.data,
    log.logIndex,
    log.removed,
  ])
}

/** The same of a line of `logsOfEthers`. */
export function fieldsOfEthers(line: string): string {
  const { blockHash, blockNumber, transactionHash, transactionIndex, address, topics, data, index, removed } = JSON.parse(line)
  return JSON.stringify([blockHash, blockNumber, transactionHash, transactionIndex, address.toLowerCase(), topics, data, index, removed])
}

function* ranges(head: number, size: number): Generator<[number, number]> {
  for (let from = 0; from <= head; from += size) yield [from, Math.min(head, from + size - 1)]
}

/** viem takes an event and its arguments instead of topics. */
function argsOf(topics: readonly (Hash | null)[]): object {
  if (topics.length === 0) return {}
  const [, from] = topics
  return { event: transfer, ...(from !== undefined && from !== null && { args: { from: `0x${from.slice(26)}` } }) }
}

/** A log with its fields in a fixed order, and bigints told from numbers. */
function lineOf(log: object): string {
  const write = (value: unknown): unknown =>
    typeof value === 'bigint'
      ? `${value}n`
      : Array.isArray(value) || value === null || typeof value !== 'object'
        ? value
        : Object.fromEntries(
            Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, each]) => [name, write(each)]),
          )
  return JSON.stringify(write(log))
}
