import { type Address, createClient, type Hex, http, parseAbi, publicActions, testActions, walletActions } from 'viem'
import { mainnet } from 'viem/chains'
import { minedReceipt } from '../support/mined.ts'

/*
 * Tokens that keep balances and have any metadata that a test sets. They are assembled from
 * instructions in hex, since there is no compiler here.
 */

/** A token's return values, in hex without 0x. A missing one reverts. */
export interface Says {
  readonly name?: string
  readonly symbol?: string
  readonly decimals?: string
  /** Instead of the balance; `revert` for nothing. */
  readonly balanceOf?: string
  /** Logs its transfers as an ERC-721 does: four topics, and no data. */
  readonly isCollectible?: boolean
}

/** A number of 32 bytes. */
export const word = (value: bigint | number) => value.toString(16).padStart(64, '0')
/** A `string` of the ABI. */
export const text = (value: string) => {
  const hex = Buffer.from(value).toString('hex')
  return word(32) + word(hex.length / 2) + hex.padEnd(64 * Math.ceil(hex.length / 64), '0')
}
/** A `bytes32` that starts with the text. */
export const bytes32 = (value: string) => Buffer.from(value).toString('hex').padEnd(64, '0')

const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const REVERT = '600080fd'
const RETURN_WORD = '60005260206000f3'
/** With an amount on the stack: storage[to] += amount, `Transfer(from, to, amount)`, and true. */
const receive = (from: string, isCollectible: boolean) => {
  const topics = `600435${from}7f${TRANSFER}`
  return `80600435540160043555${isCollectible ? `${topics}60006000a4` : `600052${topics}60206000a3`}6001${RETURN_WORD}`
}

/** The creation code of a token. */
export function tokenCode({ name, symbol, decimals, balanceOf, isCollectible = false }: Says): Hex {
  const functions: [selector: string, body: string[], data?: string | undefined][] = [
    ['06fdde03', answer('name', name), name],
    ['95d89b41', answer('symbol', symbol), symbol],
    ['313ce567', answer('decimals', decimals), decimals],
    balanceOf === undefined
      ? ['70a08231', [`60043554${RETURN_WORD}`]]
      : ['70a08231', answer('balanceOf', balanceOf === 'revert' ? undefined : balanceOf), balanceOf === 'revert' ? undefined : balanceOf],
    // mint(to, amount)
    ['40c10f19', [`602435${receive('6000', isCollectible)}`]],
    // transfer(to, amount): storage[caller] -= amount, first.
    ['a9059cbb', [`602435803354033355${receive('33', isCollectible)}`]],
  ]
  const table = functions.flatMap(([selector]) => [`8063${selector}14`, `@${selector}`, '57'])
  const bodies = functions.flatMap(([selector, body]) => [`:${selector}`, ...body])
  const data = functions.flatMap(([, body, bytes]) => (bytes === undefined ? [] : [`=${(body[1] as string).slice(1)}`, bytes]))
  return deployment(assemble(['60003560e01c', ...table, REVERT, ...bodies, ...data]))
}

/** Returns the bytes under a label. */
function answer(label: string, data: string | undefined): string[] {
  if (data === undefined) return [REVERT]
  const size = `61${hex4(data.length / 2)}`
  return [size, `@${label}`, `600039${size}6000f3`]
}

/** Hex; `:x` is a place to jump to, `=x` a place of data, `@x` pushes either. */
function assemble(parts: readonly string[]): string {
  const places = new Map<string, number>()
  let place = 0
  for (const part of parts) {
    if (part[0] === ':' || part[0] === '=') places.set(part.slice(1), place)
    place += part[0] === ':' ? 1 : part[0] === '=' ? 0 : part[0] === '@' ? 3 : part.length / 2
  }
  return parts
    .map((part) => (part[0] === ':' ? '5b' : part[0] === '=' ? '' : part[0] === '@' ? `61${hex4(places.get(part.slice(1)) as number)}` : part))
    .join('')
}

const hex4 = (value: number) => value.toString(16).padStart(4, '0')

/** The creation code of a contract. */
function deployment(runtime: string): Hex {
  return `0x61${hex4(runtime.length / 2)}80600c6000396000f3${runtime}`
}

/** Forwards its value to the address in its input: CALL(gas, input[0..32], value, no data). */
export const passOnCode: Hex = deployment('6000600060006000346000355af100')

/** Makes as many logs as the number in its input says, each with another topic. */
export const logsCode: Hex = deployment('6000355b806000528060206000a16001900380600357' + '00')

export const abi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function name() view returns (string)',
  'function symbol() view returns (string)',
])

/** anvil has the key of this account. */
export const alice: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** A viem client of the node behind a sandbox, for alice's account. */
export function viemOn(url: string) {
  return createClient({ chain: mainnet, transport: http(url), account: alice, pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
    .extend(testActions({ mode: 'anvil' }))
}
export type Viem = ReturnType<typeof viemOn>

/** Deploys a contract, and returns its address in lower case. */
export async function deploy(viem: Viem, data: Hex): Promise<Address> {
  const hash = await viem.sendTransaction({ data })
  const { contractAddress } = await minedReceipt(viem, hash)
  return (contractAddress as Address).toLowerCase() as Address
}

/** Mints amounts of a token, each in its own transaction. */
export async function mint(viem: Viem, token: Address, to: Address, amount: bigint): Promise<Hex> {
  const hash = await viem.writeContract({ abi, address: token, functionName: 'mint', args: [to, amount] })
  await minedReceipt(viem, hash)
  return hash
}
