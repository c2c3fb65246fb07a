import {
  type Address,
  concatHex,
  createPublicClient,
  custom,
  decodeAbiParameters,
  deploylessCallViaBytecodeBytecode,
  encodeErrorResult,
  type Hash,
  type Hex,
  numberToHex,
  parseAbi,
  parseEther,
  parseGwei,
  size,
  toFunctionSelector,
} from 'viem'
import { collectibleCode, tokenCode } from '../../demo/contracts.ts'
import { alice, type Bed, carol, chain } from './viem-flows.ts'

/*
 * Contracts for the flows, small enough to be written in bytecode. Each has a fixed address, where
 * `putContracts` puts it.
 */

/**
 * Logs `Transfer`, counts its transfers in slot 0, and reverts without data for an amount of 0 (see
 * demo/contracts.ts).
 */
export const token: Address = '0x1000000000000000000000000000000000000001'
/** Logs `Transfer` with a third indexed argument. */
export const collectible: Address = '0x1000000000000000000000000000000000000002'
/** `at(slot)` reads any slot. */
export const store: Address = '0x1000000000000000000000000000000000000003'
/** Fails every call with its own error type, as in `refused`. */
export const refuser: Address = '0x1000000000000000000000000000000000000004'
/** Fails every call with a reason string. */
export const talker: Address = '0x1000000000000000000000000000000000000005'
/**
 * `lookup` refers to an external source (EIP-3668), and `lookedUp` returns the first word of its
 * response.
 */
export const gateway: Address = '0x1000000000000000000000000000000000000006'
/** A wallet (EIP-1271) that accepts any signature. */
export const wallet: Address = '0x1000000000000000000000000000000000000007'
/** Returns 'Hexline' for `name()` and anything else. */
export const named: Address = '0x1000000000000000000000000000000000000008'
/** Returns the timestamp of the block. */
export const clock: Address = '0x1000000000000000000000000000000000000009'

export const tokenAbi = parseAbi([
  'function transfer(address to, uint256 amount) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event Approval(address indexed owner, address indexed spender, uint256 amount)',
])
/** The same event as the chain sees it, with another argument indexed. */
export const collectibleAbi = parseAbi(['function mint(address to)', 'event Transfer(address indexed from, address indexed to, uint256 indexed id)'])
export const storeAbi = parseAbi(['function at(uint256 slot) view returns (uint256)'])
export const refuserAbi = parseAbi(['function attempt(uint256 amount)', 'error Refused(address who, uint256 amount)'])
export const gatewayAbi = parseAbi([
  'function lookup(string name) view returns (uint256)',
  'function lookedUp(bytes response, bytes extraData) view returns (uint256)',
  'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)',
])
export const namedAbi = parseAbi(['function name() view returns (string)'])
export const clockAbi = parseAbi(['function now() view returns (uint256)'])

/** The arguments of the refuser's error. */
export const refused = { who: '0x2000000000000000000000000000000000000002', amount: 7n } as const

/** The reason of the talker's revert. */
export const reason = 'not today, señor — ✗ 🙅'

/** The source that the gateway refers to. */
export const offchain = { urls: ['http://elsewhere.example/{sender}/{data}'], callData: '0x1234', extraData: '0x5678' } as const

/** Puts every contract in its place. */
export async function putContracts({ tester }: Bed): Promise<void> {
  const codes: [Address, Hex][] = [
    [token, `0x${tokenCode}`],
    [collectible, `0x${collectibleCode}`],
    // CALLDATALOAD(4), SLOAD
    [store, concatHex(['0x60043554', returnTop])],
    [refuser, saying('revert', encodeErrorResult({ abi: refuserAbi, errorName: 'Refused', args: [refused.who, refused.amount] }))],
    [talker, saying('revert', encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: [reason] }))],
    [gateway, gatewayCode()],
    [wallet, saying('return', `0x1626ba7e${'00'.repeat(28)}`)],
    [named, saying('return', concatHex([numberToHex(32, { size: 32 }), numberToHex(7, { size: 32 }), `0x4865786c696e65${'00'.repeat(25)}`]))],
    // TIMESTAMP
    [clock, concatHex(['0x42', returnTop])],
  ]
  await Promise.all(codes.map(([address, bytecode]) => tester.setCode({ address, bytecode })))
}

/** The transactions of `makeHistory`. */
export interface History {
  readonly plain: Hash
  readonly first: Hash
  readonly second: Hash
  readonly minted: Hash
  readonly reverted: Hash
}

/**
 * Makes three blocks: in the first, alice sends carol an ether and 5 tokens; the second is empty;
 * in the third, alice mints an item for carol, and bob sends alice 6 tokens, and then 0, which
 * reverts.
 */
export async function makeHistory({ unlocked, signer, mine }: Bed): Promise<History> {
  const ofToken = { address: token, abi: tokenAbi, functionName: 'transfer', gas: 100_000n } as const
  const plain = await unlocked.sendTransaction({ to: carol, value: parseEther('1') })
  const first = await unlocked.writeContract({ ...ofToken, args: [carol, 5n] })
  await mine()
  await mine()
  const minted = await unlocked.writeContract({ address: collectible, abi: collectibleAbi, functionName: 'mint', args: [carol], gas: 100_000n })
  // anvil sorts a block by the highest fee offered, and this is lower than alice's.
  const fees = { maxFeePerGas: parseGwei('1.5'), maxPriorityFeePerGas: parseGwei('0.5') }
  const second = await signer.writeContract({ ...ofToken, ...fees, args: [alice, 6n] })
  const reverted = await signer.writeContract({ ...ofToken, ...fees, args: [alice, 0n] })
  await mine()
  return { plain, first, second, minted, reverted }
}

/** Puts multicall3 at the address given in `chain`. */
export async function putMulticall3({ reader, tester }: Bed): Promise<void> {
  const { data: bytecode } = await reader.call({ data: await multicall3Creation() })
  await tester.setCode({ address: chain.contracts.multicall3.address, bytecode: bytecode as Hex })
}

/**
 * viem has the code but does not export it. It sends the code with a multicall that works without
 * the contract.
 */
async function multicall3Creation(): Promise<Hex> {
  let sent: Hex = '0x'
  const transport = custom({
    async request({ params }: { params: [{ data: Hex }] }) {
      sent = params[0].data
      throw new Error('that is all that was wanted')
    },
  })
  const client = createPublicClient({ transport })
  await client.multicall({ deployless: true, contracts: [{ address: named, abi: namedAbi, functionName: 'name' }] })
  const [creation] = decodeAbiParameters([{ type: 'bytes' }, { type: 'bytes' }], `0x${sent.slice(deploylessCallViaBytecodeBytecode.length)}`)
  return creation
}

/** MSTORE(0, top of the stack), RETURN(0, 32) */
const returnTop: Hex = '0x60005260206000f3'

/**
 * Code that returns the given bytes, or reverts with them. `place` is its position in the whole
 * code.
 */
function saying(how: 'return' | 'revert', bytes: Hex, place = 0): Hex {
  const lengthOfCode = 13
  // PUSH2 size, DUP1, PUSH2 offset, PUSH1 0, CODECOPY, PUSH1 0, RETURN or REVERT
  const code = ['0x61', numberToHex(size(bytes), { size: 2 }), '0x8061', numberToHex(place + lengthOfCode, { size: 2 }), '0x6000396000'] as const
  return concatHex([...code, how === 'return' ? '0xf3' : '0xfd', bytes])
}

function gatewayCode(): Hex {
  const callback = toFunctionSelector(gatewayAbi[1])
  const { urls, callData, extraData } = offchain
  const lookup = encodeErrorResult({ abi: gatewayAbi, errorName: 'OffchainLookup', args: [gateway, urls, callData, callback, extraData] })
  const lengthOfBranch = 16
  const rest = saying('revert', lookup, lengthOfBranch)
  // CALLDATALOAD(0) >> 224 == callback, PUSH2 the end, JUMPI
  const branch = concatHex(['0x60003560e01c63', callback, '0x1461', numberToHex(lengthOfBranch + size(rest), { size: 2 }), '0x57'])
  // JUMPDEST, CALLDATALOAD(100): after the selector, two offsets and a length
  return concatHex([branch, rest, '0x5b606435', returnTop])
}
