import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { getContractAddress, type Hex, hexToBytes, parseTransaction, type TransactionSerializable, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { blockDecoder, decodeReceipts } from '../../src/eth/objects.ts'
import type { Block, Receipt } from '../../src/index.ts'
import { readBlocks } from './corpus.ts'

/** A block with whole transactions, decoded, and its receipts if there are any. */
export interface DecodedBlock {
  readonly name: string
  readonly chainId: number
  readonly block: Block<true>
  readonly receipts: Receipt[] | undefined
}

/** Every block of the corpus, decoded anew. */
export function decodedBlocks(): DecodedBlock[] {
  return readBlocks().map(({ name, chainId, block, receipts }) => ({
    name,
    chainId,
    block: blockDecoder(true)(block),
    receipts: receipts === undefined ? undefined : decodeReceipts(receipts),
  }))
}

/** A block and its receipts, as a node's JSON. */
export interface MadeBlock {
  readonly block: Record<string, unknown> & { readonly transactions: Record<string, unknown>[] }
  readonly receipts: Record<string, unknown>[]
}

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const to: Hex = '0x00000000000000000000000000000000000000a1'
const word = (fill: string): Hex => `0x${fill.repeat(32)}`
const BASE_FEE = 1_000_000_000n

/**
 * A block as JSON with a transaction of every type from 0 to 4, one that deploys and one that
 * failed, with logs, a withdrawal and the header fields of every fork: signed by viem, encoded by
 * @ethereumjs/rlp and rooted by @ethereumjs/mpt. Fields in `header` replace those of the header
 * before it is hashed; with `until`, it has no fields after this one.
 */
export async function madeJson({
  extraTransactions = 0,
  number = 7n,
  parentHash = word('01'),
  header: changed = {} as Record<string, string>,
  until = 'slotNumber',
} = {}): Promise<MadeBlock> {
  const fees = { chainId: 1, gas: 100_000n, maxFeePerGas: 3n * BASE_FEE, maxPriorityFeePerGas: 5n } as const
  const authorization = await account.signAuthorization({ chainId: 1, address: to, nonce: 9 })
  const wanted: TransactionSerializable[] = [
    { type: 'legacy', chainId: 1, nonce: 0, gas: 21_000n, gasPrice: 2n * BASE_FEE, to, value: 10n ** 20n },
    { type: 'legacy', nonce: 1, gas: 90_000n, gasPrice: 2n * BASE_FEE, data: '0x600080' },
    { type: 'eip2930', chainId: 1, nonce: 2, gas: 30_000n, gasPrice: 2n * BASE_FEE, to, accessList: [{ address: to, storageKeys: [word('0b'), word('0c')] }] },
    { ...fees, type: 'eip1559', nonce: 3, to, value: 1n, data: '0xdeadbeef' },
    { ...fees, type: 'eip4844', nonce: 4, to, maxFeePerBlobGas: 5n, blobVersionedHashes: [`0x01${'cd'.repeat(31)}`], sidecars: false },
    { ...fees, type: 'eip7702', nonce: 5, to, authorizationList: [authorization] },
    { ...fees, type: 'eip1559', nonce: 6, data: '0x600160', maxFeePerGas: BASE_FEE + 2n },
    ...Array.from({ length: extraTransactions }, (_, i) => ({ ...fees, type: 'eip1559' as const, nonce: 7 + i, to, value: BigInt(i) })),
  ]
  const raws = await Promise.all(wanted.map((each) => account.signTransaction(each)))
  const receipts = receiptsOf(raws)
  const withdrawals = [
    { index: '0x5', validatorIndex: '0x3039', address: to, amount: '0x1bc16d' },
    { index: '0x6', validatorIndex: '0x1', address: word('ab').slice(0, 42), amount: '0x0' },
  ]
  const all = {
    parentHash,
    sha3Uncles: hashOf(RLP.encode([])),
    miner: to,
    stateRoot: word('02'),
    transactionsRoot: await rootOf(raws.map((raw) => hexToBytes(raw))),
    receiptsRoot: await rootOf(receipts.map(encodedReceipt)),
    logsBloom: bloomOf(receipts.flatMap(({ logs }) => logs)),
    difficulty: '0x0',
    number: toHex(number),
    gasLimit: '0x1c9c380',
    gasUsed: receipts.at(-1)?.cumulativeGasUsed ?? '0x0',
    timestamp: '0x65f0a0b0',
    extraData: '0x6865786c696e65',
    mixHash: word('03'),
    nonce: '0x0000000000000000',
    baseFeePerGas: toHex(BASE_FEE),
    withdrawalsRoot: await rootOf(withdrawals.map((each) => RLP.encode(Object.values(each).map(item)))),
    blobGasUsed: '0x20000',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: word('04'),
    requestsHash: word('05'),
    blockAccessListHash: word('06'),
    slotNumber: '0xabcdef',
    ...changed,
  }
  const names = Object.keys(all)
  const header = Object.fromEntries(Object.entries(all).slice(0, names.indexOf(until) + 1)) as typeof all
  const items = Object.entries(header).map(([name, value]) =>
    ['extraData', 'logsBloom', 'miner', 'nonce'].includes(name) ? hexToBytes(value as Hex) : item(value),
  )
  const hash = hashOf(RLP.encode(items))
  const place = (i: number) => ({ blockHash: hash, blockNumber: header.number, transactionIndex: toHex(i) })
  const { timestamp: blockTimestamp } = header
  const transactions = raws.map((raw, i): Record<string, unknown> => ({ ...place(i), blockTimestamp, ...transactionJson(raw) }))
  const body = [
    items,
    raws.map((raw) => (raw.startsWith('0xf') ? RLP.decode(hexToBytes(raw)) : hexToBytes(raw))),
    [],
    withdrawals.map((each) => Object.values(each).map(item)),
  ]
  const size = toHex(RLP.encode(body as never).length)
  let logIndex = 0
  return {
    block: { ...header, hash, size, uncles: [], withdrawals, transactions },
    receipts: receipts.map((receipt, i) => ({
      ...receipt,
      ...place(i),
      transactionHash: transactions[i]?.hash,
      from: account.address.toLowerCase(),
      to: transactions[i]?.to ?? null,
      contractAddress: transactions[i]?.to === null ? getContractAddress({ from: account.address, nonce: BigInt(i) }).toLowerCase() : null,
      effectiveGasPrice: transactions[i]?.gasPrice,
      logs: receipt.logs.map((log) => ({
        ...log,
        ...place(i),
        blockTimestamp,
        transactionHash: transactions[i]?.hash,
        logIndex: toHex(logIndex++),
        removed: false,
      })),
    })),
  }
}

/** The same, decoded. */
export async function madeBlock(options: Parameters<typeof madeJson>[0] = {}): Promise<{ readonly block: Block<true>; readonly receipts: Receipt[] }> {
  const { block, receipts } = await madeJson(options)
  return { block: blockDecoder(true)(block), receipts: decodeReceipts(receipts) }
}

function transactionJson(raw: Hex): Record<string, unknown> {
  const { type, ...parsed } = parseTransaction(raw) as unknown as Record<string, unknown>
  const kind = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702'].indexOf(type as string)
  const json: Record<string, unknown> = {
    type: toHex(kind),
    hash: hashOf(hexToBytes(raw)),
    from: account.address.toLowerCase(),
    to: null,
    nonce: '0x0',
    value: '0x0',
    input: '0x',
  }
  for (const [name, value] of Object.entries(parsed)) {
    if (value === undefined || name === 'sidecars') continue
    json[name === 'data' ? 'input' : name] = typeof value === 'bigint' || typeof value === 'number' ? toHex(value) : value
  }
  if (kind > 0) json.v = json.yParity
  if (kind > 1) json.gasPrice = toHex(kind === 2 && parsed.maxFeePerGas === BASE_FEE + 2n ? BASE_FEE + 2n : BASE_FEE + 5n)
  if (kind > 0) json.accessList ??= []
  const authorizations = json.authorizationList as Record<string, unknown>[] | undefined
  if (authorizations !== undefined) {
    json.authorizationList = authorizations.map(({ chainId, address, nonce, yParity, r, s }) => ({
      ...{ chainId: toHex(chainId as number), address, nonce: toHex(nonce as number), yParity: toHex(yParity as number), r, s },
    }))
  }
  return json
}

interface PlainLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

/** What the transactions did: made up, but for their order and types. */
function receiptsOf(raws: readonly Hex[]) {
  const logs = (i: number): PlainLog[] =>
    Array.from({ length: i % 3 }, (_, j) => ({
      address: to,
      topics: [word('aa'), word(`0${i % 10}`), word(`1${j}`)].slice(0, 1 + ((i + j) % 3)),
      data: toHex(new Uint8Array(32 * ((i + j) % 4)).fill(i)),
    }))
  return raws.map((raw, i) => {
    const type = raw.startsWith('0xf') ? 0 : Number(raw.slice(0, 4))
    return {
      type: toHex(type),
      status: i === 6 ? '0x0' : '0x1',
      cumulativeGasUsed: toHex(21_000 * (i + 1) + i),
      gasUsed: toHex(i === 0 ? 21_000 : 21_001),
      logsBloom: bloomOf(logs(i)),
      logs: logs(i),
      ...(type === 3 ? { blobGasUsed: '0x20000' } : {}),
    }
  })
}

function encodedReceipt({ type, status, cumulativeGasUsed, logsBloom, logs }: ReturnType<typeof receiptsOf>[number]): Uint8Array {
  const encodedLogs = logs.map(({ address, topics, data }) => [hexToBytes(address), topics.map((topic) => hexToBytes(topic)), hexToBytes(data)])
  const payload = RLP.encode([item(status), item(cumulativeGasUsed), hexToBytes(logsBloom), encodedLogs])
  return type === '0x0' ? payload : Uint8Array.of(Number(type), ...payload)
}

/** A quantity without leading zeros, or a hash or address as it is. */
function item(value: unknown): Uint8Array {
  const hex = value as Hex
  if (hex.length === 66 || hex.length === 42) return hexToBytes(hex)
  return BigInt(hex) === 0n ? new Uint8Array() : hexToBytes(toHex(BigInt(hex)))
}

async function rootOf(items: readonly Uint8Array[]): Promise<Hex> {
  const trie = await createMPT()
  for (const [i, each] of items.entries()) await trie.put(RLP.encode(i), each)
  return toHex(trie.root())
}

function bloomOf(logs: readonly PlainLog[]): Hex {
  let bloom = 0n
  for (const { address, topics } of logs) {
    for (const each of [address, ...topics]) {
      const hash = keccak_256(hexToBytes(each))
      for (const at of [0, 2, 4]) bloom |= 1n << BigInt((((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047)
    }
  }
  return `0x${bloom.toString(16).padStart(512, '0')}`
}

function hashOf(bytes: Uint8Array): Hex {
  return toHex(keccak_256(bytes))
}
