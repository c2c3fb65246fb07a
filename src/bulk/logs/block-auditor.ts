import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'
import { HexlineError } from '../../errors.ts'
import { chainReplaced } from '../link.ts'
import type { BlockLogs, BlockLogsFetcher, Header, ReceiptsReader } from './block-logs.ts'
import type { Proven, VerdictOptions, Verdicts } from './verdicts.ts'

/** Where to fetch what proves the logs of a block. */
export interface BlockAuditorOptions<T> extends VerdictOptions<T> {
  readonly client: Client
  readonly blocks: BlockLogsFetcher<T>
  /** The only block that is audited, if it was asked for by its hash. */
  readonly blockHash: string | undefined
  readonly stop: AbortSignal
}

/** A header, with the receipts if they were fetched. */
export interface AuditedBlock<T> {
  readonly header: Header
  readonly receipts: ReturnType<ReceiptsReader<T>> | undefined
}

/** What a look at a block says about the logs that were given for it. */
export type BlockVerdict<T> =
  /** They stay as they are: nothing is missing, or nothing can be proven. */
  | typeof AS_GIVEN
  /** These are the logs of the block. */
  | { readonly type: 'proven'; readonly items: T[] }
  /** Its receipts decide. `fetch` gives the logs; it is called once there is room for a request. */
  | { readonly type: 'fetch'; readonly fetch: () => Promise<T[]> }

/** Proves that the logs of a block are complete, by its header and by its receipts. */
export class BlockAuditor<T> {
  readonly #options: BlockAuditorOptions<T>
  readonly #verdicts: Verdicts<T>

  constructor(options: BlockAuditorOptions<T>, verdicts: Verdicts<T>) {
    this.#options = options
    this.#verdicts = verdicts
  }

  /** The logs of a block whose header is at hand, with those that were missing by its bloom. */
  async complete(header: Header, given: T[]): Promise<T[]> {
    const number = Number(header.number)
    this.#verdicts.counts.blocks++
    if (!this.#verdicts.mayLack(number, header, given)) return given
    this.#verdicts.counts.suspects++
    return this.fromReceipts(number, given, header)
  }

  /** Proves the logs of a block by its header or its receipts, whichever was read. */
  prove(number: number, given: T[], { header, receipts }: AuditedBlock<T>): BlockVerdict<T> {
    const { blockHash } = this.#options
    if (blockHash !== undefined && header.hash !== blockHash) {
      this.#verdicts.countUnproven(REPLACED)
      return AS_GIVEN
    }
    return receipts === undefined ? this.#byHeader(number, given, header) : this.#byReceipts(number, given, header, receipts)
  }

  #byHeader(number: number, given: T[], header: Header): BlockVerdict<T> {
    const { logOf } = this.#options
    const areOwn = given.every((item) => logOf(item).blockHash === header.hash)
    if (areOwn && !header.hasWrongHash && !this.#verdicts.mayLack(number, header, given)) return AS_GIVEN
    this.#verdicts.counts.suspects++
    return { type: 'fetch', fetch: () => this.fromReceipts(number, given, header) }
  }

  #byReceipts(number: number, given: T[], header: Header, { linked, items }: ReturnType<ReceiptsReader<T>>): BlockVerdict<T> {
    this.#verdicts.counts.fetched++
    const fitsRoot = this.#verdicts.fitsRoot(header, linked)
    if (fitsRoot !== false) return { type: 'proven', items: this.#verdicts.resolve(number, given, { header, items, fitsRoot }) }
    const fetched = { header, items, receipts: linked, endpoint: undefined }
    return { type: 'fetch', fetch: async () => this.#verdicts.resolve(number, given, await this.#rightReceipts(number, fetched)) }
  }

  /**
   * The logs of a block by its receipts, which are fetched. The block has to be the one with this
   * header, if there is one. If the receipts are not available, the logs stay as they were given,
   * and the block counts as unproven.
   */
  async fromReceipts(number: number, given: T[], header?: Header): Promise<T[]> {
    const { blocks, blockHash, stop, logOf } = this.#options
    try {
      const fetched = await blocks.fetch(number, stop)
      this.#verdicts.counts.fetched++
      const { hash } = fetched.header
      if (header !== undefined && hash !== header.hash) throw chainReplaced(`block ${number} came as ${header.hash}, and then as ${hash}`)
      if (blockHash !== undefined && hash !== blockHash) {
        this.#verdicts.countUnproven(REPLACED)
        return given
      }
      const ofBlock = header === undefined ? given.filter((item) => logOf(item).blockHash === hash) : given
      return this.#verdicts.resolve(number, ofBlock, await this.#rightReceipts(number, header === undefined ? fetched : { ...fetched, header }))
    } catch (error) {
      if (!(error instanceof HexlineError) || !NOT_AVAILABLE.includes(error.kind)) throw error
      if (header !== undefined) return this.#verdicts.keep(header, given, UNAVAILABLE)
      this.#verdicts.countUnproven(UNAVAILABLE)
      return given
    }
  }

  /**
   * The receipts of a block. If they do not have the root in its header, the other endpoints are
   * asked, each once, until one gives receipts that do.
   */
  async #rightReceipts(number: number, fetched: BlockLogs<T>): Promise<Proven<T>> {
    const { client, blocks, stop } = this.#options
    const { header, endpoint } = fetched
    const fitsRoot = this.#verdicts.fitsRoot(header, fetched.receipts)
    const endpoints = connectionsOf(client)?.length ?? 1
    if (fitsRoot !== false || endpoints === 1) return { header, items: fetched.items, fitsRoot }
    const avoid = endpoint === undefined ? [] : [endpoint]
    try {
      for (let attempt = 1; attempt <= endpoints; attempt++) {
        const other = await blocks.fetch(number, stop, avoid)
        if (other.header.hash === header.hash && this.#verdicts.fitsRoot(header, other.receipts)) return { header, items: other.items, fitsRoot: true }
        if (other.endpoint === undefined || avoid.includes(other.endpoint)) break
        avoid.push(other.endpoint)
      }
    } catch (error) {
      // The first receipts stay unproven.
      if (!(error instanceof HexlineError) || error.kind === 'closed' || stop.aborted) throw error
    }
    return { header, items: fetched.items, fitsRoot }
  }
}

const AS_GIVEN = { type: 'as-given' } as const

/** Why a block that was asked for by its hash is unproven. */
const REPLACED = 'the block is no longer part of the chain'

const UNAVAILABLE = 'its receipts are not available'

/** Kinds of failures that mean this. */
const NOT_AVAILABLE = ['unsupported', 'pruned', 'not-found', 'lagging', 'response-too-large']
