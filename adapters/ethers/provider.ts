import { setMaxListeners } from 'node:events'
import {
  Block,
  type BlockParams,
  type BlockTag,
  type EventFilter,
  getBigInt,
  isHexString,
  type JsonRpcError,
  type JsonRpcPayload,
  JsonRpcProvider,
  type JsonRpcResult,
  type Listener,
  type Log,
  makeError,
  Network,
  type Networkish,
  type ProviderEvent,
  type Subscriber,
  type Subscription,
  type TransactionReceipt,
  UnmanagedSubscriber,
} from 'ethers'
import { isRound } from '../../src/bulk/logs/range-limits.ts'
import { type Client, isClient } from '../../src/client/client.ts'
import { connectionsOf } from '../../src/client/internals.ts'
import { scrubError } from '../../src/client/scrub-error.ts'
import { caused } from '../caused.ts'
import { checkRangeOptions, type GetBlocksOptions, wrappedBlocks } from './bulk/get-blocks.ts'
import { type FilterRange, isShort, rangeOf, splitLogs } from './bulk/get-logs.ts'
import { hasNoPrice, receiptsOf } from './bulk/receipts.ts'
import { type Answer, Channel } from './channel.ts'
import { bellOf } from './events/bell.ts'
import { subscriberFor } from './events/subscribers.ts'
import { waitForTransaction } from './events/wait-for-transaction.ts'
import { Destroyed, errorObject, ethersError, isAnswer, isTooLong, unsupported, withEthersCode } from './format/ethers-error.ts'
import { agreesWithEthers, BlockFormat } from './format/format-block.ts'
import { type HexlineProviderOptions, splitOptions } from './options.ts'
import { clientFor, type Target } from './target.ts'

/**
 * ethers' `JsonRpcProvider` on hexline: use `new HexlineProvider(url)` in its place. It takes
 * - a node's URL, ethers' `FetchRequest`, or a node of the service (`{ baseUrl, chain, apiKey }`),
 * - an array of endpoints, as alternatives to each other,
 * - a hexline client, which it shares and does not close.
 *
 * hexline does the batching, retries and throttling. Errors are ethers' own, with hexline's error
 * as their cause. Throws `OptionError` with ethers' code INVALID_ARGUMENT for invalid options.
 */
export class HexlineProvider extends JsonRpcProvider {
  /** The hexline client that sends the calls. */
  readonly client: Client
  readonly #ownsClient: boolean
  readonly #channel: Channel
  /** Ends the provider's own calls, since a shared client stays open. */
  readonly #end = new AbortController()
  readonly #format = new BlockFormat()
  readonly #given: Network | undefined
  #isLikeEthers: boolean | undefined
  #isDebugged = false
  #nextId = 1
  #detected: Network | undefined
  #detecting: Promise<Network> | undefined
  /** Settles after the last change to the listeners. */
  #changed: Promise<unknown> = Promise.resolve()

  constructor(target?: Target | null, network?: Networkish | null, options?: HexlineProviderOptions | null) {
    const { client, ofEthers, request, isOwned, isOwnTransport } = partsOf(target ?? 'http://localhost:8545', options ?? {})
    super(request ?? client.endpoints[0], network ?? undefined, ofEthers)
    this.client = client
    this.#ownsClient = isOwned
    const stallMs = ofEthers.batchMaxCount === 1 ? 0 : (ofEthers.batchStallTime ?? 0)
    this.#channel = new Channel(client, { stallMs, isOwnTransport, end: this.#end.signal })
    this.#given = network === undefined || network === null || network === 'any' ? undefined : Network.from(network)
    // Every `waitForTransaction` listens to this signal.
    setMaxListeners(0, this.#end.signal)
  }

  /**
   * A provider with a known network that does not change. The chain id is requested once, here, and
   * not at all if `staticNetwork` names the network. Rejects if the node does not answer, and
   * leaves no connection open then.
   */
  static async connect<T extends HexlineProvider>(
    this: new (
      ...args: ConstructorParameters<typeof HexlineProvider>
    ) => T,
    target: Target,
    options: HexlineProviderOptions = {},
  ): Promise<T> {
    const provider = new this(target, undefined, { staticNetwork: true, ...options })
    try {
      await provider.getNetwork()
    } catch (error) {
      provider.destroy()
      throw error
    }
    return provider
  }

  /** Sends any method. The calls of one turn of the event loop go in one batch. */
  // biome-ignore lint/suspicious/noExplicitAny: what ethers' own gives
  override async send(method: string, params: any[] | Record<string, any>): Promise<any> {
    const payload: JsonRpcPayload = { method, params: (params ?? []) as unknown[], id: this.#nextId++, jsonrpc: '2.0' }
    const stall = this.#channel.stall()
    if (stall !== undefined) await stall
    // Bypasses ethers' own queue, which waits for a timer, and before the first call for the
    // network.
    this.#debug({ action: 'sendRpcPayload', payload })
    let answer: Answer
    try {
      answer = await this.#answer(payload)
    } catch (error) {
      this.#debug({ action: 'receiveRpcError', error })
      throw error
    }
    const { response, cause } = answer
    this.#debug({ action: 'receiveRpcResult', result: [response] })
    if ('error' in response) throw caused(this.getRpcError(payload, response), cause)
    return response.result
  }

  /**
   * The channel that `send` uses. Resolves to the node's replies as they came, errors included, and
   * rejects if there are none. A subclass may replace it.
   */
  override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    const answers = await Promise.all((Array.isArray(payload) ? payload : [payload]).map((each) => this.#channel.send(each)))
    // ethers' type omits errors, but its callers expect them.
    return answers.map(({ response }) => response as JsonRpcResult)
  }

  async #answer(payload: JsonRpcPayload): Promise<Answer> {
    if (this._send === HexlineProvider.prototype._send) return this.#channel.send(payload)
    const responses = await this._send(payload)
    const response = responses.find(({ id }) => id === payload.id)
    if (response === undefined) throw makeError('missing response for request', 'BAD_DATA', { value: responses, info: { payload } })
    return { response }
  }

  /**
   * Emits a `debug` event once there has been a listener: ethers looks for listeners in a promise,
   * which costs as much as the call.
   */
  #debug(event: object): void {
    if (this.#isDebugged) void this.emit('debug', event)
  }

  /** ethers' own error mapping, and one error for -32601 whatever the message. */
  override getRpcError(payload: JsonRpcPayload, error: JsonRpcError): Error {
    return error.error.code === -32601 ? unsupported(payload, error.error) : super.getRpcError(payload, error)
  }

  // ethers requests the network first, retries for ever and prints a line each second. Here a call
  // that needs the network requests it, and fails if there is no answer.

  override get ready(): boolean {
    return true
  }

  override _start(): void {}

  override async _waitUntilReady(): Promise<void> {}

  override get _network(): Network {
    return this.#detected ?? this.#given ?? super._network
  }

  get #known(): Network | undefined {
    try {
      return this._network
    } catch {
      return undefined
    }
  }

  override async getNetwork(): Promise<Network> {
    const network = await super.getNetwork()
    this.#detected ??= network
    return network
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
    const network = await this.#scrubbed(this.send('eth_chainId', []).then((id) => Network.from(getBigInt(id))))
    this.#detected = network
    return network
  }

  override _getSubscriber(sub: Subscription): Subscriber {
    if (sub.type === 'debug') this.#isDebugged = true
    // A real subscriber would poll for ever, with no way to stop it.
    if (this.destroyed) return new UnmanagedSubscriber(sub.type)
    return subscriberFor(this, sub, () => super._getSubscriber(sub), bellOf(this.client))
  }

  // ethers looks up subscriptions in a promise, and loses a listener that is added in the turn in
  // which the last one is removed.

  override on(event: ProviderEvent, listener: Listener): Promise<this> {
    return this.#inOrder(event, () => super.on(event, listener))
  }

  override once(event: ProviderEvent, listener: Listener): Promise<this> {
    return this.#inOrder(event, () => super.once(event, listener))
  }

  override off(event: ProviderEvent, listener?: Listener): Promise<this> {
    return this.#inOrder(event, () => super.off(event, listener))
  }

  override async listenerCount(event?: ProviderEvent): Promise<number> {
    await this.#changed
    return super.listenerCount(event)
  }

  override async listeners(event?: ProviderEvent): Promise<Listener[]> {
    await this.#changed
    return super.listeners(event)
  }

  override removeAllListeners(event?: ProviderEvent): Promise<this> {
    return this.#inOrder(event, () => super.removeAllListeners(event))
  }

  /**
   * Applies changes one after the other, except for filters by ENS name, which ethers has to
   * resolve first.
   */
  #inOrder(event: ProviderEvent | undefined, change: () => Promise<this>): Promise<this> {
    if (hasEnsName(event)) return change()
    const changed = this.#changed.then(change)
    this.#changed = changed.catch(() => {})
    return changed
  }

  override waitForTransaction(hash: string, confirms?: number | null, timeout?: number | null): Promise<TransactionReceipt | null> {
    return waitForTransaction(this, hash, confirms ?? 1, timeout ?? undefined, this.#end.signal)
  }

  /**
   * The block that ethers would make, at a fraction of the cost. Unusual blocks are left to ethers.
   */
  override _wrapBlock(value: BlockParams, network: Network): Block {
    const byEthers = (raw: unknown) => super._wrapBlock(raw as BlockParams, network)
    const fast = (raw: unknown) => new Block(this.#format.block(raw), this)
    this.#isLikeEthers ??= agreesWithEthers(fast, byEthers)
    if (!this.#isLikeEthers) return byEthers(value)
    try {
      return fast(value)
    } catch {
      return byEthers(value)
    }
  }

  // ethers' errors include the whole value that could not be read, and a node may put its URL
  // there.

  override getBlockNumber(...args: Parameters<JsonRpcProvider['getBlockNumber']>): ReturnType<JsonRpcProvider['getBlockNumber']> {
    return this.#scrubbed(super.getBlockNumber(...args))
  }

  override getFeeData(...args: Parameters<JsonRpcProvider['getFeeData']>): ReturnType<JsonRpcProvider['getFeeData']> {
    return this.#scrubbed(super.getFeeData(...args))
  }

  override estimateGas(...args: Parameters<JsonRpcProvider['estimateGas']>): ReturnType<JsonRpcProvider['estimateGas']> {
    return this.#scrubbed(super.estimateGas(...args))
  }

  override call(...args: Parameters<JsonRpcProvider['call']>): ReturnType<JsonRpcProvider['call']> {
    return this.#scrubbed(super.call(...args))
  }

  override getBalance(...args: Parameters<JsonRpcProvider['getBalance']>): ReturnType<JsonRpcProvider['getBalance']> {
    return this.#scrubbed(super.getBalance(...args))
  }

  override getTransactionCount(...args: Parameters<JsonRpcProvider['getTransactionCount']>): ReturnType<JsonRpcProvider['getTransactionCount']> {
    return this.#scrubbed(super.getTransactionCount(...args))
  }

  override getCode(...args: Parameters<JsonRpcProvider['getCode']>): ReturnType<JsonRpcProvider['getCode']> {
    return this.#scrubbed(super.getCode(...args))
  }

  override getStorage(...args: Parameters<JsonRpcProvider['getStorage']>): ReturnType<JsonRpcProvider['getStorage']> {
    return this.#scrubbed(super.getStorage(...args))
  }

  override getBlock(...args: Parameters<JsonRpcProvider['getBlock']>): ReturnType<JsonRpcProvider['getBlock']> {
    return this.#scrubbed(super.getBlock(...args))
  }

  override getTransaction(...args: Parameters<JsonRpcProvider['getTransaction']>): ReturnType<JsonRpcProvider['getTransaction']> {
    return this.#scrubbed(super.getTransaction(...args))
  }

  override getTransactionReceipt(...args: Parameters<JsonRpcProvider['getTransactionReceipt']>): ReturnType<JsonRpcProvider['getTransactionReceipt']> {
    return this.#scrubbed(this.#uncachedReceipt(...args))
  }

  /**
   * Past ethers' cache, where the user wants it: at a new block, it would give the null from before
   * the block. On a quiet chain, no other block follows that would end the wait for the receipt.
   */
  async #uncachedReceipt(...args: Parameters<JsonRpcProvider['getTransactionReceipt']>): ReturnType<JsonRpcProvider['getTransactionReceipt']> {
    const [hash] = args
    const [network, receipt] = await Promise.all([this.getNetwork(), this._perform({ method: 'getTransactionReceipt', hash })])
    if ((receipt ?? null) === null) return null
    // ethers adds the price from the transaction.
    if (hasNoPrice(receipt)) return super.getTransactionReceipt(...args)
    return this._wrapTransactionReceipt(receipt, network)
  }

  /**
   * As ethers' own, for ranges of any length: what the node does not send in one reply is requested
   * in parts, so `contract.queryFilter(filter, 0, 'latest')` works over millions of blocks. The
   * logs are held in memory.
   */
  override async getLogs(...args: Parameters<JsonRpcProvider['getLogs']>): ReturnType<JsonRpcProvider['getLogs']> {
    const filter = await this._getFilter(args[0])
    const range = rangeOf(filter)
    if (range === undefined) return this.#scrubbed(super.getLogs(filter))
    if (!isShort(range)) return this.#splitLogs(range)
    try {
      const logs = await this.#scrubbed(super.getLogs(filter))
      return isRound(logs.length) ? this.#splitLogs(range) : logs
    } catch (error) {
      if (!isTooLong(error)) throw error
      return this.#splitLogs(range)
    }
  }

  async #splitLogs(range: FilterRange): Promise<Log[]> {
    try {
      this.#end.signal.throwIfAborted()
      this.#channel.checkTransport()
      const network = await this.getNetwork()
      const logs = await splitLogs(this.client.with({ signal: this.#end.signal }), range)
      if (logs === undefined) return await this.#scrubbed(super.getLogs(range.filter))
      return logs.map((log) => this._wrapLog({ ...log, index: log.logIndex } as never, network))
    } catch (error) {
      throw this.#jobError(error, 'eth_getLogs', [range.filter])
    }
  }

  override broadcastTransaction(...args: Parameters<JsonRpcProvider['broadcastTransaction']>): ReturnType<JsonRpcProvider['broadcastTransaction']> {
    return this.#scrubbed(super.broadcastTransaction(...args))
  }

  /** The same result. Hides secrets in the errors that ethers throws on results it cannot read. */
  async #scrubbed<T>(reading: Promise<T>): Promise<T> {
    try {
      return await reading
    } catch (error) {
      // Errors of calls have other codes and hold no secrets.
      const { code = 'BAD_DATA' } = error as { code?: unknown }
      throw code === 'INVALID_ARGUMENT' || code === 'BAD_DATA' ? scrubError(error, connectionsOf(this.client)) : error
    }
  }

  /**
   * The receipts of a block, in the order of its transactions, or null if there is no such block.
   */
  getBlockReceipts(block: BlockTag): Promise<TransactionReceipt[] | null> {
    return this.#scrubbed(receiptsOf(this, block))
  }

  /**
   * Streams the blocks `from` to `to`, both included, as `getBlock` returns them, in order and
   * without gaps:
   *
   *     for await (const block of provider.getBlocks(0, 'finalized', { prefetchTxs: true })) …
   *
   * Blocks are requested ahead of the consumer within `maxBytes`, in batches of a size that the
   * node accepts. Numbers and parent hashes are checked.
   *
   * Throws `OptionError` at once for invalid options. The iteration rejects with ethers' errors
   * when a call fails, and with hexline's `IntegrityError` when blocks contradict each other.
   */
  getBlocks(from: number | bigint, to: BlockTag = 'latest', options: GetBlocksOptions = {}): AsyncGenerator<Block, void, undefined> {
    return this.#blocks(withEthersCode(() => checkRangeOptions(from, to, options)))
  }

  async *#blocks(options: ReturnType<typeof checkRangeOptions>): AsyncGenerator<Block, void, undefined> {
    const end = this.#end.signal
    try {
      end.throwIfAborted()
      this.#channel.checkTransport()
      const network = await this.getNetwork()
      const blocks = wrappedBlocks(this.client.with({ signal: end }), options, (raw) => this._wrapBlock(raw, network))
      for await (const block of blocks) {
        yield block
        // A destroyed provider yields no more blocks, not even those that have arrived.
        end.throwIfAborted()
      }
    } catch (error) {
      if (options.signal?.aborted && error === options.signal.reason) throw error
      throw this.#jobError(error, 'eth_getBlockByNumber')
    }
  }

  /**
   * The error of a job of several calls. `usual` is the method of errors that name none, and
   * `params` say what it was asked for.
   */
  #jobError(error: unknown, usual: string, params: JsonRpcPayload['params'] = []): unknown {
    const method = (error as { method?: string } | null)?.method ?? usual
    if (this.destroyed) return new Destroyed().errorOf(method)
    if (isAnswer(error))
      return caused(this.getRpcError({ id: 0, method, params: method === usual ? params : [], jsonrpc: '2.0' }, { id: 0, error: errorObject(error) }), error)
    return ethersError(error, method, this.client.endpoints)
  }

  /**
   * Ends all pending calls with UNSUPPORTED_OPERATION, and closes the connections that the provider
   * has made.
   */
  override destroy(): void {
    if (this.destroyed) return
    super.destroy()
    this.#end.abort(new Destroyed())
    if (this.#ownsClient) void this.client.close()
  }
}

/** The client of a provider, how it was made, and the options that are ethers' own. */
function partsOf(target: Target, options: HexlineProviderOptions) {
  return withEthersCode(() => {
    const { ofEthers, ofClient } = splitOptions(options, isClient(target))
    const made = clientFor(target, ofClient)
    // For 250 ms, ethers would give a nonce, a balance or a block from before the last transaction.
    return { ofEthers: { cacheTimeout: -1, ...ofEthers }, ...made }
  })
}

/** Whether a filter has an address that is a name. */
function hasEnsName(event: ProviderEvent | undefined): boolean {
  const { address = [] } = (event ?? {}) as EventFilter
  return [address].flat().some((each) => !isHexString(each))
}
