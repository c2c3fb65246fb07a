import { isDeepStrictEqual } from 'node:util'
import { type AccessList, type Block, type BlockParams, Signature, type TransactionResponseParams } from 'ethers'
import { checksumOf } from '../../../src/eth/codec/checksum.ts'
import { fault } from '../../../src/eth/codec/codec-path.ts'
import { isHash } from '../../../src/eth/codec/hex.ts'
import { decodeNumber, decodeQuantity } from '../../../src/eth/codec/quantity.ts'
import { sampleBlock } from './samples.ts'

/**
 * A JSON object as a node sent it. It must not be changed: ethers caches results for identical
 * requests.
 */
type Raw = Readonly<Record<string, unknown>>

/** Whether two formatters return the same for a block with every kind of transaction. */
export function agreesWithEthers(ours: (raw: unknown) => Block, byEthers: (raw: unknown) => Block): boolean {
  try {
    return isSameBlock(ours(sampleBlock()), byEthers(sampleBlock()))
  } catch {
    return false
  }
}

/** Whether two blocks are equal in all that ethers shows of them. */
export function isSameBlock(a: Block, b: Block): boolean {
  return isDeepStrictEqual(shown(a), shown(b))
}

function shown(block: Block): unknown {
  const fields = { ...block, provider: undefined }
  return [fields, block.prefetchedTransactions.map((each) => [{ ...each, provider: undefined, signature: undefined }, each.signature.toJSON()])]
}

/**
 * Formats a block for ethers' `Block`, as ethers' own formatter does, at a fraction of the cost,
 * most of which is the checksums of addresses. It reads what nodes usually send and throws on
 * anything else, which ethers then formats itself.
 */
export class BlockFormat {
  readonly #checksums = new Checksums()

  block(value: unknown): BlockParams {
    const raw = value as Raw
    return {
      hash: orNull(raw.hash, hash),
      parentHash: hash(raw.parentHash),
      parentBeaconBlockRoot: orNull(raw.parentBeaconBlockRoot, hash),
      number: decodeNumber(raw.number),
      timestamp: decodeNumber(raw.timestamp),
      nonce: orUndefined(raw.nonce, data) as string,
      difficulty: decodeQuantity(raw.difficulty),
      gasLimit: decodeQuantity(raw.gasLimit),
      gasUsed: decodeQuantity(raw.gasUsed),
      stateRoot: orNull(raw.stateRoot, hash),
      receiptsRoot: orNull(raw.receiptsRoot, hash),
      transactionsRoot: orNull(raw.transactionsRoot, hash),
      blobGasUsed: orNull(raw.blobGasUsed, decodeQuantity),
      excessBlobGas: orNull(raw.excessBlobGas, decodeQuantity),
      miner: this.#checksums.of(raw.miner),
      prevRandao: orNull('prevRandao' in raw ? raw.prevRandao : raw.mixHash, hash),
      extraData: data(raw.extraData),
      baseFeePerGas: orNull(raw.baseFeePerGas, decodeQuantity),
      transactions: (raw.transactions as unknown[]).map((each) => (typeof each === 'string' ? each : this.#transaction(each as Raw))),
    }
  }

  /** Leaves out `creates`, which ethers computes and discards. */
  #transaction(raw: Raw): TransactionResponseParams {
    const checksums = this.#checksums
    // Alternative names, which ethers accepts, too.
    for (const name of ['signature', 'creates', 'index', 'data', 'gasLimit']) if (name in raw) throw fault(`no ${name}`, raw[name])
    const signature = Signature.from(raw as never)
    return {
      hash: hash(raw.hash),
      index: decodeNumber(raw.transactionIndex),
      type: raw.type === undefined || raw.type === null ? 0 : decodeNumber(raw.type),
      accessList: orNull(raw.accessList, (list) => this.#accessList(list)) as AccessList,
      blobVersionedHashes: orNull(raw.blobVersionedHashes, hashes) as string[],
      authorizationList: orNull(raw.authorizationList, (list) => this.#authorizations(list)) as never,
      blockHash: raw.blockHash === ZERO ? null : hash(raw.blockHash),
      blockNumber: decodeNumber(raw.blockNumber),
      from: checksums.of(raw.from),
      to: orNull(raw.to, (to) => checksums.of(to)),
      gasPrice: orUndefined(raw.gasPrice, decodeQuantity) as bigint,
      maxPriorityFeePerGas: orNull(raw.maxPriorityFeePerGas, decodeQuantity),
      maxFeePerGas: orNull(raw.maxFeePerGas, decodeQuantity),
      maxFeePerBlobGas: orNull(raw.maxFeePerBlobGas, decodeQuantity),
      gasLimit: decodeQuantity(raw.gas),
      value: decodeQuantity(raw.value),
      nonce: decodeNumber(raw.nonce),
      data: data(raw.input),
      chainId: (orNull(raw.chainId, decodeQuantity) ?? signature.legacyChainId) as bigint,
      signature,
    }
  }

  #accessList(value: unknown): AccessList {
    return (value as { address: unknown; storageKeys: unknown }[]).map(({ address, storageKeys }) => ({
      address: this.#checksums.of(address),
      storageKeys: (storageKeys as unknown[]).map(lowerCaseHash),
    }))
  }

  #authorizations(value: unknown): unknown[] {
    return (value as Raw[]).map((each) => ({
      address: this.#checksums.of(each.address),
      chainId: decodeQuantity(each.chainId),
      nonce: decodeQuantity(each.nonce),
      signature: Signature.from(each as never),
    }))
  }
}

/** Some nodes send this for pending values. */
const ZERO = `0x${'0'.repeat(64)}`

/** How many addresses are cached. */
const REMEMBERED = 20_000

/** Checksummed addresses (EIP-55), with a cache of recent ones, since blocks repeat them. */
class Checksums {
  #recent = new Map<string, string>()
  #older = new Map<string, string>()

  of(address: unknown): string {
    const known = this.#recent.get(address as string) ?? this.#older.get(address as string)
    if (known !== undefined) return known
    const made = this.#make(address)
    if (this.#recent.size >= REMEMBERED) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(address as string, made)
    return made
  }

  #make(address: unknown): string {
    // An address in lower case has no checksum that could be wrong.
    if (typeof address !== 'string' || !/^0x[0-9a-f]{40}$/.test(address)) throw fault('an address in lower case', address)
    return checksumOf(address)
  }
}

function orNull<T>(value: unknown, decode: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : decode(value)
}

function orUndefined<T>(value: unknown, decode: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : decode(value)
}

function hash(value: unknown): string {
  if (isHash(value)) return value
  throw fault('a hash', value)
}

/** ethers changes storage keys to lower case. */
function lowerCaseHash(value: unknown): string {
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value)) return value
  throw fault('a hash in lower case', value)
}

function hashes(value: unknown): string[] {
  return (value as unknown[]).map(hash)
}

function data(value: unknown): string {
  if (typeof value === 'string' && value.length % 2 === 0 && /^0x[0-9a-fA-F]*$/.test(value)) return value
  throw fault('bytes', value)
}
