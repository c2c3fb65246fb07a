import { commitmentsToVersionedHashes, encodeFunctionData, type Hex, keccak256, parseAbi, toHex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Address, type Client, createClient, encodeQuantity, type Layer } from '../src/index.ts'
import { collectibleCode, deployment, tokenCode } from './contracts.ts'

export interface SeedOptions {
  /** Blocks to add, at least 20. Default 5,000. */
  readonly blocks?: number
  /**
   * Blob transactions among them, each in a separate block. Default 4. anvil 1.7.1 serves a blob
   * with its transaction (256 KiB in hex, which nodes leave out) and counts it into the block's
   * `transactionsRoot` (which nodes do not): `0` where roots are to be recomputed.
   */
  readonly blobs?: number
  /** Called as blocks are mined. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface SeededChain {
  /** The newest block. */
  readonly head: bigint
  readonly transactions: number
  /** How many transactions there are of each type. */
  readonly types: Record<number, number>
  readonly logs: number
  /** Transactions whose receipt has status 0. */
  readonly reverted: number
  readonly emptyBlocks: number
  /** Most transactions in one block. */
  readonly busiest: number
  /** Blocks that hold a blob transaction. */
  readonly blobBlocks: readonly bigint[]
  /** Contracts with `Transfer` logs of three topics (ERC-20). */
  readonly tokens: readonly Address[]
  /** The contract with `Transfer` logs of four topics (ERC-721). */
  readonly collectible: Address
}

/**
 * Makes a chain worth reading on a fresh anvil, in about three seconds per thousand blocks:
 * transfers, contract calls with logs, calls that revert, transactions of types 0 to 4, empty
 * blocks and crowded ones. The same blocks every time, hashes included, when anvil is started with
 * a `timestamp`: blocks are 12 s apart, so one that lies `blocks * 12` s back puts the head at the
 * present. Start it with `pruneHistory: true` where no old state is asked for: anvil 1.7.1 writes
 * that of every block to disk otherwise (0.9 GB for 5,000 blocks) and leaves it there.
 */
export async function seedChain(url: string, options: SeedOptions = {}): Promise<SeededChain> {
  const { blocks = 5_000, blobs = 4, onProgress } = options
  if (!Number.isSafeInteger(blocks) || blocks < 20) throw new RangeError(`blocks: expected a whole number of at least 20, received ${blocks}`)
  if (!Number.isSafeInteger(blobs) || blobs < 0 || blobs > blocks / 5)
    throw new RangeError(`blobs: expected a whole number from 0 to a fifth of the blocks, received ${blobs}`)
  const client = createClient(url, { layers: (defaults) => [sendsMayRepeat, ...defaults] })
  try {
    const resumeHistory = await pauseHistory(client)
    await ask(client, 'evm_setAutomine', false)
    await ask(client, 'anvil_setBlockTimestampInterval', 12)
    const seeded = await mineAll(client, plan(blocks, blobs), blocks, onProgress)
    await resumeHistory()
    await ask(client, 'evm_setAutomine', true)
    return seeded
  } finally {
    await client.close()
  }
}

/**
 * Methods beyond hexline's table travel one per POST, since they might not bear repeating. A
 * transaction with a nonce does: it runs once.
 */
const sendsMayRepeat: Layer = (next) => (call) => next(call.method === 'eth_sendTransaction' ? { ...call, safe: true } : call)

function ask(client: Client, method: string, ...params: unknown[]): Promise<unknown> {
  return client.request({ method, params })
}

/**
 * Every block writes its parent's hash into the storage of the contract of EIP-2935, and anvil
 * 1.7.1 sorts all of that storage again for every block: after 2,500 blocks a block takes ten times
 * as long as the first. Without its code the contract stays empty.
 */
async function pauseHistory(client: Client): Promise<() => Promise<unknown>> {
  const contract = '0x0000F90827F1C53a10cb7A02335B175320002935'
  const code = await client.call('eth_getCode', contract)
  await ask(client, 'anvil_setCode', contract, '0x')
  return () => ask(client, 'anvil_setCode', contract, code)
}

type Kind = 'deploy-token' | 'deploy-collectible' | 'fund' | 'transfer' | 'token' | 'collectible' | 'revert' | 'delegated' | 'blob'

const TOKENS = 3

/**
 * What each block holds. Blob, delegated and crowded blocks have fixed places, so that short chains
 * have them, too.
 */
function plan(blocks: number, blobs: number): readonly Kind[][] {
  const random = generator(1)
  const some = (count: number) => Array.from({ length: count }, () => pick(random, EVERYDAY))
  const planned: Kind[][] = [[...Array<Kind>(TOKENS).fill('deploy-token'), 'deploy-collectible', 'fund']]
  const blobPlaces = new Set(Array.from({ length: blobs }, (_, i) => Math.floor(((2 * i + 1) * blocks) / (2 * blobs))))
  const crowdEvery = Math.floor(blocks / 12)
  while (planned.length < blocks) {
    const place = planned.length
    if (blobPlaces.has(place)) planned.push(['blob', ...some(random(3))])
    else if (place % crowdEvery === crowdEvery - 1) planned.push(some(24 + random(77)))
    else if (place % 40 === 18) planned.push(['delegated', ...some(random(4))])
    else planned.push(random(7) === 0 ? [] : some(1 + random(5)))
  }
  return planned
}

/** Kinds of transactions, in proportion to their frequency. */
const EVERYDAY: readonly Kind[] = [...Array<Kind>(20).fill('transfer'), ...Array<Kind>(22).fill('token'), ...Array<Kind>(7).fill('collectible'), 'revert']

async function mineAll(client: Client, planned: readonly Kind[][], total: number, onProgress: SeedOptions['onProgress']): Promise<SeededChain> {
  const start = await client.call('eth_blockNumber')
  const cast = await assemble(client, planned)
  const counts = { transactions: 0, types: {} as Record<number, number>, logs: 0, reverted: 0, emptyBlocks: 0, busiest: 0 }
  const blobBlocks: bigint[] = []
  for (let done = 0; done < total; onProgress?.(done, total)) {
    const kinds = planned[done] ?? []
    if (kinds.length === 0) {
      // A run of empty blocks is one call.
      const next = planned.findIndex((each, i) => i > done && each.length > 0)
      const count = (next === -1 ? total : next) - done
      await ask(client, 'anvil_mine', encodeQuantity(count))
      counts.emptyBlocks += count
      done += count
      continue
    }
    const drafts = kinds.map((kind, i) => draft(cast, kind, i))
    // They may arrive in any order: nonces and fees say which comes first.
    await Promise.all(drafts.map((each) => each.send(client)))
    await ask(client, 'evm_mine')
    done += 1
    for (const { type, kind } of drafts) {
      counts.types[type] = (counts.types[type] ?? 0) + 1
      if (kind === 'token' || kind === 'collectible' || kind === 'delegated') counts.logs += 1
      if (kind === 'revert') counts.reverted += 1
      if (kind === 'blob') blobBlocks.push(start + BigInt(done))
    }
    counts.transactions += drafts.length
    counts.busiest = Math.max(counts.busiest, drafts.length)
    if (done === 1) await learnContracts(client, cast, start + 1n)
  }
  const { tokens, collectible } = cast
  return { head: await client.call('eth_blockNumber'), ...counts, blobBlocks, tokens, collectible }
}

/** The accounts and contracts of the chain, and how far they are. */
interface Cast {
  readonly random: Random
  readonly chainId: number
  /** anvil signs for these. */
  readonly unlocked: readonly Address[]
  /** Signs what anvil does not: blob transactions and delegated ones. */
  readonly signer: PrivateKeyAccount
  /** Let a contract act in their name (EIP-7702). */
  readonly authorities: readonly PrivateKeyAccount[]
  readonly recipients: readonly Address[]
  readonly nonces: Map<Address, number>
  /** When anvil has learnt to check blobs. */
  readonly blobsChecked: Promise<void>
  tokens: readonly Address[]
  collectible: Address
}

async function assemble(client: Client, planned: readonly Kind[][]): Promise<Cast> {
  const chainId = await client.call('eth_chainId')
  const blobsChecked = planned.some((kinds) => kinds.includes('blob')) ? checkOneBlob(client, chainId) : Promise.resolve()
  const unlocked = (await ask(client, 'eth_accounts')) as Address[]
  const signer = accountOf('signer')
  const authorities = [1, 2, 3, 4, 5].map((i) => accountOf(`authority ${i}`))
  // Few of them: anvil 1.7.1 sorts all accounts again for every block.
  const strangers = Array.from({ length: 20 }, (_, i) => keccak256(toHex(`recipient ${i}`)).slice(0, 42) as Address)
  const actors = [...unlocked, signer.address, ...authorities.map((each) => each.address)]
  const counts = await Promise.all(actors.map((address) => client.call('eth_getTransactionCount', address)))
  return {
    random: generator(2),
    chainId,
    unlocked,
    signer,
    authorities,
    recipients: [...unlocked, ...strangers],
    nonces: new Map(actors.map((address, i) => [address, counts[i] ?? 0])),
    blobsChecked,
    tokens: [],
    collectible: '0x',
  }
}

/** A key that anybody can compute: for private chains only. */
function accountOf(name: string): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toHex(`hexline demo: ${name}`)))
}

async function learnContracts(client: Client, cast: Cast, block: bigint): Promise<void> {
  const receipts = await client.call('eth_getBlockReceipts', block)
  const contracts = receipts?.flatMap((each) => each.contractAddress ?? []) ?? []
  const collectible = contracts[TOKENS]
  if (collectible === undefined) throw new Error(`block ${block}: expected ${TOKENS + 1} contracts, received ${contracts.length}; is this a fresh anvil?`)
  cast.tokens = contracts.slice(0, TOKENS)
  cast.collectible = collectible
}

interface Draft {
  readonly kind: Kind
  readonly type: number
  send(client: Client): Promise<unknown>
}

const GWEI = 10n ** 9n
const MILLIETHER = 10n ** 15n
const erc20 = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])

/**
 * One transaction. All that is chosen for it is chosen now, so that the chain does not depend on
 * what is sent when.
 */
function draft(cast: Cast, kind: Kind, place: number): Draft {
  const { random } = cast
  // anvil sorts a block by fee: a wei less for each place keeps the order of the plan.
  const fee = 100n * GWEI - BigInt(place)
  if (kind === 'delegated') return delegated(cast, fee)
  if (kind === 'blob') return blob(cast, fee)

  const from = kind.startsWith('deploy') || kind === 'fund' ? (cast.unlocked[0] as Address) : pick(random, cast.unlocked)
  const what = content(cast, kind)
  // Half are of type 2, a third of type 0, and the rest of type 1.
  const type = kind.startsWith('deploy') ? 2 : pick(random, [2, 2, 2, 0, 0, 1])
  const transaction = {
    from,
    ...what,
    nonce: encodeQuantity(nonceOf(cast, from)),
    gas: encodeQuantity(kind.startsWith('deploy') ? 300_000 : 100_000),
    type: encodeQuantity(type),
    ...(type === 2
      ? { maxFeePerGas: encodeQuantity(fee), maxPriorityFeePerGas: encodeQuantity(GWEI) }
      : {
          gasPrice: encodeQuantity(fee),
          // The contract's counter is in its slot 0.
          ...(type === 1 && { accessList: what.to === undefined ? [] : [{ address: what.to, storageKeys: [`0x${'00'.repeat(32)}`] }] }),
        }),
  }
  return { kind, type, send: (client) => ask(client, 'eth_sendTransaction', transaction) }
}

function content(cast: Cast, kind: Kind): { to?: Address; value?: string; input?: Hex } {
  const { random } = cast
  if (kind === 'deploy-token') return { input: deployment(tokenCode) }
  if (kind === 'deploy-collectible') return { input: deployment(collectibleCode) }
  if (kind === 'fund') return { to: cast.signer.address, value: encodeQuantity(100_000n * MILLIETHER) }
  const recipient = pick(random, cast.recipients)
  if (kind === 'transfer') return { to: recipient, value: encodeQuantity(BigInt(1 + random(100)) * MILLIETHER) }
  const amount = kind === 'revert' ? 0n : BigInt(1 + random(1_000_000)) * GWEI
  return { to: kind === 'collectible' ? cast.collectible : pick(random, cast.tokens), input: transferOf(recipient, amount) }
}

function transferOf(to: Address, amount: bigint): Hex {
  return encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [to, amount] })
}

/**
 * Type 4 (EIP-7702): an account without code lends itself a token's, and is then called as if it
 * were one: its logs carry its own address.
 */
function delegated(cast: Cast, fee: bigint): Draft {
  const { random, chainId, signer } = cast
  const authority = pick(random, cast.authorities)
  const contractAddress = pick(random, cast.tokens)
  const data = transferOf(pick(random, cast.recipients), BigInt(1 + random(1000)) * GWEI)
  const nonce = nonceOf(cast, signer.address)
  const authorityNonce = nonceOf(cast, authority.address)
  return {
    kind: 'delegated',
    type: 4,
    async send(client) {
      const authorizationList = [await authority.signAuthorization({ contractAddress, chainId, nonce: authorityNonce })]
      const fees = { gas: 200_000n, maxFeePerGas: fee, maxPriorityFeePerGas: GWEI }
      const signed = await signer.signTransaction({ type: 'eip7702', chainId, nonce, to: authority.address, data, authorizationList, ...fees })
      return client.call('eth_sendRawTransaction', signed)
    },
  }
}

/** Type 3 (EIP-4844). */
function blob(cast: Cast, fee: bigint): Draft {
  const nonce = nonceOf(cast, cast.signer.address)
  const to = pick(cast.random, cast.recipients)
  return {
    kind: 'blob',
    type: 3,
    async send(client) {
      await cast.blobsChecked
      return client.call('eth_sendRawTransaction', await signBlob(cast.signer, { chainId: cast.chainId, nonce, to, maxFeePerGas: fee }))
    },
  }
}

/**
 * With the one blob that needs no trusted setup: all zero, it is the polynomial 0, whose commitment
 * and proof are both the point at infinity. It goes in the wrapper of EIP-4844. That of EIP-7594
 * (128 cell proofs, all the same point), which networks demand since Fusaka, anvil takes as well.
 */
function signBlob(signer: PrivateKeyAccount, about: { chainId: number; nonce: number; to: Address; maxFeePerGas: bigint }): Promise<Hex> {
  const infinity: Hex = `0xc0${'00'.repeat(47)}`
  return signer.signTransaction({
    type: 'eip4844',
    ...about,
    gas: 21_000n,
    maxPriorityFeePerGas: GWEI,
    maxFeePerBlobGas: GWEI,
    blobVersionedHashes: commitmentsToVersionedHashes({ commitments: [infinity] }),
    sidecars: [{ blob: `0x${'00'.repeat(131_072)}`, commitment: infinity, proof: infinity }],
  })
}

/**
 * The first blob has anvil prepare its own trusted setup, for three seconds: one that nobody can
 * pay for is refused after that, while blocks are mined.
 */
async function checkOneBlob(client: Client, chainId: number): Promise<void> {
  const unpaid = await signBlob(accountOf('nobody'), { chainId, nonce: 0, to: accountOf('nobody').address, maxFeePerGas: GWEI })
  await client.call('eth_sendRawTransaction', unpaid).catch(() => {})
}

function nonceOf(cast: Cast, address: Address): number {
  const nonce = cast.nonces.get(address) ?? 0
  cast.nonces.set(address, nonce + 1)
  return nonce
}

/** A whole number from 0 to below `limit`. */
type Random = (limit: number) => number

/** The 32-bit xorshift of Marsaglia: the same numbers for the same seed. */
function generator(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b9)
  return (limit) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random(items.length)] as T
}
