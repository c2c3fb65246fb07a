import { AbiCoder, concat, dataLength, Interface, id, toBeHex } from 'ethers'
import { collectibleCode, deployment, tokenCode } from '../../demo/contracts.ts'
import { alice, type Bed, bob, carol } from './ethers-flows.ts'

/*
 * Contracts for the flows, small enough to be written in bytecode. Each has a fixed address, where
 * `putContracts` puts it.
 */

const place = (i: number) => `0x${'10'.padEnd(39, '0')}${i}`

/**
 * Logs `Transfer`, counts its transfers in slot 0, and reverts without data for an amount of 0 (see
 * demo/contracts.ts).
 */
export const token = place(1)
/** Logs `Transfer` with a third indexed argument. */
export const collectible = place(2)
/** Fails every call with its own error type, as in `refused`. */
export const refuser = place(3)
/** Fails every call with a reason string. */
export const talker = place(4)
/** Fails every call with the panic of an arithmetic overflow. */
export const panicker = place(5)
/**
 * `lookup` refers to an external source (EIP-3668), and `lookedUp` returns the first word of its
 * response.
 */
export const gateway = place(6)
/** Returns 'Hexline' for `name()` and anything else. */
export const named = place(7)
/** Returns the first word of its call data, which begins with the selector. */
export const echo = place(8)

export const tokenAbi = new Interface([
  'function transfer(address to, uint256 amount) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event Approval(address indexed owner, address indexed spender, uint256 amount)',
])
/** The same event as the chain sees it, with another argument indexed. */
export const collectibleAbi = new Interface(['function mint(address to)', 'event Transfer(address indexed from, address indexed to, uint256 indexed id)'])
export const refuserAbi = new Interface([
  'function attempt(uint256 amount)',
  'function look() view returns (uint256)',
  'error Refused(address who, uint256 amount)',
])
export const namedAbi = new Interface(['function name() view returns (string)'])
export const echoAbi = new Interface([
  'function say(uint256) view returns (bytes32)',
  'function say(address) view returns (bytes32)',
  'function say(uint256, bool) view returns (bytes32)',
])
export const gatewayAbi = new Interface([
  'function lookup(string name) view returns (uint256)',
  'function lookedUp(bytes response, bytes extraData) view returns (uint256)',
  'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)',
])

/** The bytecode that makes a token. */
export const tokenDeployment = deployment(tokenCode)

/** The arguments of the refuser's error. */
export const refused = { who: '0x2000000000000000000000000000000000000002', amount: 7n } as const

/** The reason of the talker's revert. */
export const reason = 'not today, señor — ✗ 🙅'

/**
 * The number in the response of the gateway's source. It is part of the URL, so no server is
 * needed.
 */
export const answer = 4242n
const elsewhere = `data:application/json,${encodeURIComponent(JSON.stringify({ data: toBeHex(answer, 32) }))}`

/** Puts every contract in its place. */
export async function putContracts({ ask }: Bed): Promise<void> {
  const errors = new Interface(['error Error(string)', 'error Panic(uint256)'])
  const codes: [string, string][] = [
    [token, `0x${tokenCode}`],
    [collectible, `0x${collectibleCode}`],
    [refuser, saying('revert', refuserAbi.encodeErrorResult('Refused', [refused.who, refused.amount]))],
    [talker, saying('revert', errors.encodeErrorResult('Error', [reason]))],
    [panicker, saying('revert', errors.encodeErrorResult('Panic', [0x11]))],
    [gateway, gatewayCode()],
    [named, saying('return', AbiCoder.defaultAbiCoder().encode(['string'], ['Hexline']))],
    // CALLDATALOAD(0)
    [echo, concat(['0x600035', returnTop])],
  ]
  await Promise.all(codes.map(([address, code]) => ask('anvil_setCode', address, code)))
}

/** The transactions of `makeHistory`. */
export interface History {
  readonly plain: string
  readonly first: string
  readonly second: string
  readonly minted: string
  readonly reverted: string
}

/**
 * Makes three blocks: in the first, alice sends carol an ether and 5 tokens; the second is empty;
 * in the third, alice mints an item for carol, and bob sends alice 6 tokens, and then 0, which
 * reverts.
 */
export async function makeHistory({ ask, mine }: Bed): Promise<History> {
  const sent = (from: string, to: string, data: string, other: object = {}) =>
    ask<string>('eth_sendTransaction', { from, to, data, gas: toBeHex(100_000), ...other })
  // anvil sorts a block by the highest fee offered, and this is lower than alice's.
  const fees = { maxFeePerGas: toBeHex(1_500_000_000n), maxPriorityFeePerGas: toBeHex(500_000_000n) }
  const transfer = (to: string, amount: bigint) => tokenAbi.encodeFunctionData('transfer', [to, amount])
  const plain = await sent(alice, carol, '0x', { value: toBeHex(10n ** 18n) })
  const first = await sent(alice, token, transfer(carol, 5n))
  await mine()
  await mine()
  const minted = await sent(alice, collectible, collectibleAbi.encodeFunctionData('mint', [carol]))
  const second = await sent(bob.address, token, transfer(alice, 6n), fees)
  const reverted = await sent(bob.address, token, transfer(alice, 0n), fees)
  await mine()
  return { plain, first, second, minted, reverted }
}

/** MSTORE(0, top of the stack), RETURN(0, 32) */
const returnTop = '0x60005260206000f3'

/**
 * Code that returns the given bytes, or reverts with them. `at` is its position in the whole code.
 */
function saying(how: 'return' | 'revert', bytes: string, at = 0): string {
  const lengthOfCode = 13
  // PUSH2 size, DUP1, PUSH2 offset, PUSH1 0, CODECOPY, PUSH1 0, RETURN or REVERT
  const code = ['0x61', toBeHex(dataLength(bytes), 2), '0x8061', toBeHex(at + lengthOfCode, 2), '0x6000396000']
  return concat([...code, how === 'return' ? '0xf3' : '0xfd', bytes])
}

function gatewayCode(): string {
  const callback = id('lookedUp(bytes,bytes)').slice(0, 10)
  const lookup = gatewayAbi.encodeErrorResult('OffchainLookup', [gateway, [elsewhere], '0x1234', callback, '0x5678'])
  const lengthOfBranch = 16
  const rest = saying('revert', lookup, lengthOfBranch)
  // CALLDATALOAD(0) >> 224 == callback, PUSH2 the end, JUMPI
  const branch = concat(['0x60003560e01c63', callback, '0x1461', toBeHex(lengthOfBranch + dataLength(rest), 2), '0x57'])
  // JUMPDEST, CALLDATALOAD(100): after the selector, two offsets and a length
  return concat([branch, rest, '0x5b606435', returnTop])
}
