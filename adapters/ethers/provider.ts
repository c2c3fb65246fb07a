import {
  Block,
  type BlockParams,
  type BlockTag,
  type FetchRequest,
  getBigInt,
  type JsonRpcApiProviderOptions,
  type JsonRpcError,
  type JsonRpcPayload,
  JsonRpcProvider,
  type JsonRpcResult,
  Network,
  type Networkish,
  type Subscriber,
  type Subscription,
  type TransactionReceipt,
} from 'ethers'
import { checkOptions, fetchRange, inBlock, type Progress } from '../../src/bulk/get-blocks.ts'
import { Link, linkedFields } from '../../src/bulk/link.ts'
import type { RangeEnd } from '../../src/bulk/range.ts'
import { type Client, createClient, isClient } from '../../src/client.ts'
import type { Endpoint } from '../../src/endpoint.ts'
import { OptionError, show } from '../../src/errors.ts'
import { encodeArguments } from '../../src/eth/methods.ts'
import { type ClientOptions, onlyKnown } from '../../src/options.ts'
import { connectionOf, splitOptions } from './config.ts'
import { Destroyed, errorObject, ethersError, isAnswer, unsupported } from './ethers-error.ts'
import { FilterSubscriber } from './filter-subscriber.ts'
import { BlockFormat, isSameBlock } from './format-block.ts'
import { sampleBlock } from './samples.ts'
import { waitForTransaction } from './wait-for-transaction.ts'

/** Options of ethers' `JsonRpcProvider` and of a hexline client. Batches are hexline's: of ethers' options for them, `batchMaxCount` is the longest. */
export interface HexlineProviderOptions extends JsonRpcApiProviderOptions, ClientOptions {}

export interface GetBlocksOptions {
  /** Whole transactions, as `block.prefetchedTransactions`. Default false. */
  readonly prefetchTxs?: boolean
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal
  /** Bytes of replies asked for ahead of the reader. Default 32 MiB. */
  readonly maxBytes?: number
  /** Told after each block. */
  readonly onProgress?: (progress: Progress) => void
}

type Response = JsonRpcResult | JsonRpcError

/** What a provider talks to. */
type Target = Endpoint | readonly Endpoint[] | FetchRequest | Client

/**
 * ethers' `JsonRpcProvider` on hexline: `new HexlineProvider(url)` in its place. Takes a node's URL (or ethers' `FetchRequest`), a node of
 * the service (`{ baseUrl, chain, apiKey }`), several that stand in for each other, or a hexline client, which is shared and stays its
 * owner's to close. hexline makes the batches, retries and waits; errors are ethers' own, with hexline's as their cause.
 * Throws `OptionError` for options that cannot be meant.
 */
export class HexlineProvider extends JsonRpcProvider {
  /** The hexline client underneath. */
  readonly client: Client
  readonly #ownsClient: boolean
  /** Ends the provider's calls, also on a client that goes on. */
  readonly #end = new AbortController()
  #nextId = 1
  #detected: Network | undefined
  #detecting: Promise<Network> | undefined
  readonly #format = new BlockFormat()
  #isLikeEthers: boolean | undefined

  constructor(target: Target = 'http://localhost:8545', network?: Networkish, options: HexlineProviderOptions = {}) {
    const { ofEthers, ofClient } = splitOptions(options, isClient(target))
    if (isClient(target)) {
      super(target.endpoints[0], network, ofEthers)
      this.client = target
      this.#ownsClient = false
    } else {
      const { endpoint, options, request } = connectionOf(target, ofClient)
      const client = createClient(endpoint, options)
      super(request ?? client.endpoints[0], network, ofEthers)
      this.client = client
      this.#ownsClient = true
    }
  }

  /**
   * A provider whose network is known and does not change: the chain id is asked for once, here, and never again. Rejects, and
   * leaves nothing open, when the node does not answer.
   */
  static async connect(target: Target, options: HexlineProviderOptions = {}): Promise<HexlineProvider> {
    const provider = new HexlineProvider(target, undefined, { staticNetwork: true, ...options })
    try {
      await provider.getNetwork()
    } catch (error) {
      provider.destroy()
      throw error
    }
    return provider
  }

  /** Any method. Calls of one turn of the event loop travel together. */
  // biome-ignore lint/suspicious/noExplicitAny: what ethers' own gives
  override async send(method: string, params: any[] | Record<string, any>): Promise<any> {
    const payload: JsonRpcPayload = { method, params: params as unknown[], id: this.#nextId++, jsonrpc: '2.0' }
    // Not by way of ethers' own queue, which waits for a timer, and for a network before the first call.
    this.#debug({ action: 'sendRpcPayload', payload })
    let response: Response
    try {
      response = await this.#ask(payload)
    } catch (error) {
      this.#debug({ action: 'receiveRpcError', error })
      throw error
    }
    this.#debug({ action: 'receiveRpcResult', result: [response] })
    if ('error' in response) throw this.getRpcError(payload, response)
    return response.result
  }

  /** The channel underneath `send`: the node's replies, errors among them, as they came. Rejects when there is none. */
  override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    const payloads = Array.isArray(payload) ? payload : [payload]
    // ethers' type has no errors, its callers look for them.
    return (await Promise.all(payloads.map((each) => this.#ask(each)))) as JsonRpcResult[]
  }

  async #ask({ method, params, id }: JsonRpcPayload): Promise<Response> {
    if (this.destroyed) throw new Destroyed().errorOf(method)
    try {
      const reply = await this.client.send({ method, params: params as unknown[], signal: this.#end.signal })
      return { jsonrpc: '2.0', id, result: reply.take() } as Response
    } catch (error) {
      if (!isAnswer(error)) throw ethersError(error, method, this.client.endpoints)
      return { jsonrpc: '2.0', id, error: errorObject(error) } as Response
    }
  }

  #debug(event: object): void {
    void this.emit('debug', event)
  }

  /** ethers' own mapping of what a node says, and -32601 for what it is, in whatever words. */
  override getRpcError(payload: JsonRpcPayload, error: JsonRpcError): Error {
    return error.error.code === -32601 ? unsupported(payload, error.error) : super.getRpcError(payload, error)
  }

  // ethers asks for the network before anything else, for ever and with a line on the console each second. Here a call that needs
  // the network asks for it, and fails when there is no answer.

  override get ready(): boolean {
    return true
  }

  override _start(): void {}

  override async _waitUntilReady(): Promise<void> {}

  override get _network(): Network {
    return this.#detected ?? super._network
  }

  get #known(): Network | undefined {
    try {
      return this._network
    } catch {
      return undefined
    }
  }

  override async _detectNetwork(): Promise<Network> {
    const isStatic = this._getOption('staticNetwork')
    if (isStatic) {
      if (isStatic !== true) return isStatic
      if (this.#known !== undefined) return this.#known
    }
    this.#detecting ??= this.#askNetwork()
    try {
      return await this.#detecting
    } finally {
      this.#detecting = undefined
    }
  }

  async #askNetwork(): Promise<Network> {
    const network = Network.from(getBigInt((await this.send('eth_chainId', [])) as string))
    this.#detected = network
    return network
  }

  /** Filters that are made again when the node has forgotten them, and that end quietly with the provider. */
  override _getSubscriber(sub: Subscription): Subscriber {
    const byPolling = (): Subscriber => super._getSubscriber(sub)
    if (sub.type === 'pending') return FilterSubscriber.ofPending(this)
    if (sub.type === 'event' && !this._getOption('polling')) return FilterSubscriber.ofEvent(this, sub.filter, byPolling)
    return byPolling()
  }

  override waitForTransaction(hash: string, confirms?: number | null, timeout?: number | null): Promise<TransactionReceipt | null> {
    return waitForTransaction(this, hash, confirms ?? 1, timeout ?? undefined, this.#end.signal)
  }

  override _wrapBlock(value: BlockParams, network: Network): Block {
    const byEthers = (raw: unknown) => super._wrapBlock(raw as BlockParams, network)
    const fast = (raw: unknown) => new Block(this.#format.block(raw), this)
    this.#isLikeEthers ??= isSameBlock(fast(sampleBlock()), byEthers(sampleBlock()))
    if (!this.#isLikeEthers) return byEthers(value)
    try {
      return fast(value)
    } catch {
      // Something unusual: ethers reads it, or says what is wrong with it.
      return byEthers(value)
    }
  }

  /** The receipts of a block, in the order of its transactions; null when there is no such block. */
  async getBlockReceipts(block: BlockTag): Promise<TransactionReceipt[] | null> {
    const [network, tag] = await Promise.all([this.getNetwork(), this._getBlockTag(block)])
    const receipts = (await this.send('eth_getBlockReceipts', encodeArguments('eth_getBlockReceipts', [tag]))) as never[] | null
    return receipts === null ? null : receipts.map((receipt) => this._wrapTransactionReceipt(receipt, network))
  }

  /**
   * The blocks `from` to `to`, both included, as `getBlock` gives them, in order and without a hole:
   *
   *     for await (const block of provider.getBlocks(0, 'finalized', { prefetchTxs: true })) …
   *
   * Asked for ahead of the reader, as far as `maxBytes` allows, in the batches that the node takes; numbers and parent hashes are
   * checked. Throws `OptionError` at once for options that cannot be meant; rejects with ethers' errors where a call fails, and with
   * hexline's `IntegrityError` where blocks contradict each other.
   */
  getBlocks(from: number | bigint, to: RangeEnd = 'latest', options: GetBlocksOptions = {}): AsyncGenerator<Block, void, undefined> {
    onlyKnown('options', options, ['prefetchTxs', 'signal', 'maxBytes', 'onProgress'])
    const { prefetchTxs = false, ...rest } = options
    if (typeof prefetchTxs !== 'boolean') throw new OptionError('prefetchTxs', 'true or false', show(prefetchTxs))
    return this.#blocks(checkOptions({ from, to, transactions: prefetchTxs ? 'full' : 'hashes', ...rest }))
  }

  async *#blocks(options: ReturnType<typeof checkOptions>): AsyncGenerator<Block, void, undefined> {
    const link = new Link()
    const network = await this.getNetwork()
    try {
      for await (const { number, block } of fetchRange(this.client.with({ signal: this.#end.signal }), options, 'value')) {
        const raw = block.take()
        link.follow(
          number,
          inBlock(number, () => linkedFields(raw)),
        )
        yield this._wrapBlock(raw as BlockParams, network)
      }
    } catch (error) {
      const method = (error as { method?: string }).method ?? 'eth_getBlockByNumber'
      if (!isAnswer(error)) throw ethersError(error, method, this.client.endpoints)
      throw this.getRpcError({ id: 0, method, params: [], jsonrpc: '2.0' }, { id: 0, error: errorObject(error) })
    }
  }

  /** Ends every call that waits with UNSUPPORTED_OPERATION, and the connections that the provider has made. */
  override destroy(): void {
    if (this.destroyed) return
    super.destroy()
    this.#end.abort(new Destroyed())
    if (this.#ownsClient) void this.client.close()
  }
}
