import type { Client } from '../client/client.ts'
import { RpcError } from '../errors.ts'
import type { Address, Hash, Hex } from '../eth/codec/hex.ts'

/** keccak256("Transfer(address,address,uint256)"). */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** A word of 32 bytes in hex, with 0x. */
const WORD = 66

/** Metadata of a token; null where the token does not return it in a readable form. */
export interface TokenMetadata {
  readonly name: string | null
  readonly symbol: string | null
  readonly decimals: number | null
}

/**
 * Every ERC-20 that has logged a transfer from or to the wallet, up to a block: addresses in lower
 * case, in any order.
 */
export async function tokensOf(client: Client, wallet: Address, block: bigint): Promise<Address[]> {
  const topic: Hash = `0x${wallet.slice(2).toLowerCase().padStart(64, '0')}`
  const range = { fromBlock: 0n, toBlock: block }
  const found = await Promise.all([
    client.call('eth_getLogs', { ...range, topics: [TRANSFER, topic] }),
    client.call('eth_getLogs', { ...range, topics: [TRANSFER, null, topic] }),
  ])
  // An ERC-721 logs the same event with the token in a fourth topic.
  const isErc20 = ({ topics, data }: { topics: readonly Hash[]; data: Hex }) => topics.length === 3 && data.length === WORD
  return [
    ...new Set(
      found
        .flat()
        .filter(isErc20)
        .map(({ address }) => address.toLowerCase() as Address),
    ),
  ]
}

/** `balanceOf(wallet)` at a block, in the smallest unit; null when the contract returns none. */
export async function balanceOf(client: Client, token: Address, wallet: Address, block: bigint): Promise<bigint | null> {
  const output = await ask(client, token, `0x70a08231${wallet.slice(2).toLowerCase().padStart(64, '0')}`, block)
  return output !== null && output.length >= WORD ? BigInt(output.slice(0, WORD)) : null
}

/** `name()`, `symbol()` and `decimals()` at a block. */
export async function metadataOf(client: Client, token: Address, block: bigint): Promise<TokenMetadata> {
  const [name, symbol, decimals] = await Promise.all(['0x06fdde03', '0x95d89b41', '0x313ce567'].map((data) => ask(client, token, data as Hex, block)))
  return { name: textOf(name ?? null), symbol: textOf(symbol ?? null), decimals: decimalsOf(decimals ?? null) }
}

/** The output of a call; null when the contract refuses it. */
async function ask(client: Client, to: Address, data: Hex, block: bigint): Promise<Hex | null> {
  try {
    return await client.call('eth_call', { to, data }, block)
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'execution') return null
    throw error
  }
}

/** An ABI `string`, or a `bytes32` padded with zeros, as some old tokens return. */
export function textOf(output: Hex | null): string | null {
  if (output === null) return null
  const bytes = Buffer.from(output.slice(2), 'hex')
  if (bytes.length === 32) return utf8(bytes.subarray(0, bytes.includes(0) ? bytes.indexOf(0) : 32))
  if (bytes.length < 64 || wordAt(bytes, 0) !== 32n) return null
  const length = wordAt(bytes, 32)
  return length <= BigInt(bytes.length - 64) ? utf8(bytes.subarray(64, 64 + Number(length))) : null
}

function wordAt(bytes: Buffer, place: number): bigint {
  return BigInt(`0x${bytes.toString('hex', place, place + 32)}`)
}

function utf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** A `uint8`; a larger value is not a number of decimals. */
function decimalsOf(output: Hex | null): number | null {
  if (output === null || output.length < WORD) return null
  const value = BigInt(output.slice(0, WORD))
  return value <= 255n ? Number(value) : null
}
