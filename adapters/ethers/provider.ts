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
  makeError,
  Network,
  type Networkish,
  type ProviderEvent,
  type Subscriber,
  type Subscription,
  type TransactionReceipt,
  UnmanagedSubscriber,
} from 'ethers'
import { type Client, isClient } from '../../src/client/client.ts'
import { connectionsOf } from '../../src/client/internals.ts'
import { scrubError } from '../../src/client/scrub-error.ts'
import { encodeArguments } from '../../src/eth/methods.ts'
import { type Answer, Channel } from './channel.ts'
import { caused, Destroyed, errorObject, ethersError, isAnswer, unsupported, withEthersCode } from './ethers-error.ts'
import { BlockFormat, isSameBlock } from './format-block.ts'
import { checkRangeOptions, type GetBlocksOptions, wrappedBlocks } from './get-blocks.ts'
import { type HexlineProviderOptions, splitOptions } from './options.ts'
import { hasNoPrice, type RawReceipt, withPrices } from './receipts.ts'
import { sampleBlock } from './samples.ts'
import { subscriberFor } from './subscribers.ts'
import { clientFor, type Target } from './target.ts'
import { waitForTransaction } from './wait-for-transaction.ts'

/**
 * ethers' `JsonRpcProvider` on hexline: `new HexlineProvider(url)` in its place. Takes a node's URL (or ethers' `FetchRequest`), a node of
 * the service (`{ baseUrl, chain, apiKey }`), several that stand in for each other, or a hexline client, which is shared and stays its
 * owner's to close. hexline makes the batches, retries and waits; errors are ethers' own, with hexline's as their cause.
 * Throws `OptionError` for invalid options, with ethers' code INVALID_ARGUMENT.
 */
export class HexlineProvider extends JsonRpcProvider {
  /** The hexline client underneath. */
  readonly client: Client
  readonly #ownsClient: boolean
  readonly #channel: Channel
  /** Ends the provider's calls, also on a client that goes on. */
  readonly #end = new AbortController()
  readonly #format = new BlockFormat()
  readonly #given: Network | undefined
  #isLikeEthers: boolean | undefined
  #isDebugged = false
  #nextId = 1
  #detected: Network | undefined
  #detecting: Promise<Network> | undefined
  /** The last change to the listeners. */
  #changed: Promise<unknown> = Promise.resolve()

  constructor(target?: Target | null, network?: Networkish | null, options?: HexlineProviderOptions | null) {
    const { client, ofEthers, request, isOwned, isOwnTransport } = resolve(target ?? 'http://localhost:8545', options ?? {})
    super(request ?? client.endpoints[0], network ?? undefined, ofEthers)
    this.client = client
    this.#ownsClient = isOwned
    const stallMs = ofEthers.batchMaxCount === 1 ? 0 : (ofEthers.batchStallTime ?? 0)
    this.#channel = new Channel(client, { stallMs, isOwnTransport, end: this.#end.signal })
    this.#given = network === undefined || network === null || network === 'any' ? undefined : Network.from(network)
    // Everything that waits for a transaction listens to it.
    setMaxListeners(0, this.#end.signal)
  }

  /**
   * A provider whose network is known and does not change: the chain id is asked for once, here, and never again; not at all when
   * `staticNetwork` says what it is. Rejects, and leaves nothing open, when the node does not answer.
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

  /** Any method. Calls of one turn of the event loop travel together. */
  // biome-ignore lint/suspicious/noExplicitAny: what ethers' own gives
  override async send(method: string, params: any[] | Record<string, any>): Promise<any> {
    const payload: JsonRpcPayload = { method, params: (params ?? []) as unknown[], id: this.#nextId++, jsonrpc: '2.0' }
    const stall = this.#channel.stall()
    if (stall !== undefined) await stall
    // Not by way of ethers' own queue, which waits for a timer, and for a network before the first call.
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

  /** The channel underneath `send`: the node's replies, errors among them, as they came. Rejects when there is none. A subclass may have one of its own. */
  override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    const answers = await Promise.all((Array.isArray(payload) ? payload : [payload]).map((each) => this.#channel.send(each)))
    // ethers' type has no errors; its callers look for them.
    return answers.map(({ response }) => response as JsonRpcResult)
  }

  async #answer(payload: JsonRpcPayload): Promise<Answer> {
    if (this._send === HexlineProvider.prototype._send) return this.#channel.send(payload)
    const responses = await this._send(payload)
    const response = responses.find(({ id }) => id === payload.id)
    if (response === undefined) throw makeError('missing response for request', 'BAD_DATA', { value: responses, info: { payload } })
    return { response }
  }

  /** ethers looks for the listeners of an event in a promise, which costs as much as the call. */
  #debug(event: object): void {
    if (this.#isDebugged) void this.emit('debug', event)
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
    const network = await this.#read(this.send('eth_chainId', []).then((id) => Network.from(getBigInt(id))))
    this.#detected = network
    return network
  }

  override _getSubscriber(sub: Subscription): Subscriber {
    if (sub.type === 'debug') this.#isDebugged = true
    // A real one would ask for ever, and nobody could stop it.
    if (this.destroyed) return new UnmanagedSubscriber(sub.type)
    return subscriberFor(this, sub, () => super._getSubscriber(sub))
  }

  // ethers looks for the subscription in a promise, and loses a listener that is added in the turn in which the last one is removed.

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

  /** One change after the other, but for filters by name, which ethers has to look up first. */
  #inOrder(event: ProviderEvent | undefined, change: () => Promise<this>): Promise<this> {
    if (isByName(event)) return change()
    const changed = this.#changed.then(change)
    this.#changed = changed.catch(() => {})
    return changed
  }

  override waitForTransaction(hash: string, confirms?: number | null, timeout?: number | null): Promise<TransactionReceipt | null> {
    return waitForTransaction(this, hash, confirms ?? 1, timeout ?? undefined, this.#end.signal)
  }

  /** As ethers makes it, for a fraction of the cost; what is unusual is left to ethers. */
  override _wrapBlock(value: BlockParams, network: Network): Block {
    const byEthers = (raw: unknown) => super._wrapBlock(raw as BlockParams, network)
    const fast = (raw: unknown) => new Block(this.#format.block(raw), this)
    this.#isLikeEthers ??= agree(fast, byEthers)
    if (!this.#isLikeEthers) return byEthers(value)
    try {
      return fast(value)
    } catch {
      return byEthers(value)
    }
  }

  // ethers' errors of what it cannot read hold all of it, and a node may have put its URL there.

  override getBlockNumber(...args: Parameters<JsonRpcProvider['getBlockNumber']>): ReturnType<JsonRpcProvider['getBlockNumber']> {
    return this.#read(super.getBlockNumber(...args))
  }

  override getFeeData(...args: Parameters<JsonRpcProvider['getFeeData']>): ReturnType<JsonRpcProvider['getFeeData']> {
    return this.#read(super.getFeeData(...args))
  }

  override estimateGas(...args: Parameters<JsonRpcProvider['estimateGas']>): ReturnType<JsonRpcProvider['estimateGas']> {
    return this.#read(super.estimateGas(...args))
  }

  override call(...args: Parameters<JsonRpcProvider['call']>): ReturnType<JsonRpcProvider['call']> {
    return this.#read(super.call(...args))
  }

  override getBalance(...args: Parameters<JsonRpcProvider['getBalance']>): ReturnType<JsonRpcProvider['getBalance']> {
    return this.#read(super.getBalance(...args))
  }

  override getTransactionCount(...args: Parameters<JsonRpcProvider['getTransactionCount']>): ReturnType<JsonRpcProvider['getTransactionCount']> {
    return this.#read(super.getTransactionCount(...args))
  }

  override getCode(...args: Parameters<JsonRpcProvider['getCode']>): ReturnType<JsonRpcProvider['getCode']> {
    return this.#read(super.getCode(...args))
  }

  override getStorage(...args: Parameters<JsonRpcProvider['getStorage']>): ReturnType<JsonRpcProvider['getStorage']> {
    return this.#read(super.getStorage(...args))
  }

  override getBlock(...args: Parameters<JsonRpcProvider['getBlock']>): ReturnType<JsonRpcProvider['getBlock']> {
    return this.#read(super.getBlock(...args))
  }

  override getTransaction(...args: Parameters<JsonRpcProvider['getTransaction']>): ReturnType<JsonRpcProvider['getTransaction']> {
    return this.#read(super.getTransaction(...args))
  }

  override getTransactionReceipt(...args: Parameters<JsonRpcProvider['getTransactionReceipt']>): ReturnType<JsonRpcProvider['getTransactionReceipt']> {
    return this.#read(super.getTransactionReceipt(...args))
  }

  override getLogs(...args: Parameters<JsonRpcProvider['getLogs']>): ReturnType<JsonRpcProvider['getLogs']> {
    return this.#read(super.getLogs(...args))
  }

  override broadcastTransaction(...args: Parameters<JsonRpcProvider['broadcastTransaction']>): ReturnType<JsonRpcProvider['broadcastTransaction']> {
    return this.#read(super.broadcastTransaction(...args))
  }

  /** What ethers reads of results. */
  async #read<T>(reading: Promise<T>): Promise<T> {
    try {
      return await reading
    } catch (error) {
      // An error of a call has another code, and no secret.
      const { code = 'BAD_DATA' } = error as { code?: unknown }
      throw code === 'INVALID_ARGUMENT' || code === 'BAD_DATA' ? scrubError(error, connectionsOf(this.client)) : error
    }
  }

  /** The receipts of a block, in the order of its transactions; null when there is no such block. */
  getBlockReceipts(block: BlockTag): Promise<TransactionReceipt[] | null> {
    return this.#read(this.#receiptsOf(block))
  }

  async #receiptsOf(block: BlockTag): Promise<TransactionReceipt[] | null> {
    const params = encodeArguments('eth_getBlockReceipts', [await this._getBlockTag(block)])
    const [network, raw] = await Promise.all([this.getNetwork(), this.send('eth_getBlockReceipts', params)])
    if (raw === null) return null
    if (!Array.isArray(raw)) throw makeError('the receipts of a block have to be an array', 'BAD_DATA', { value: raw })
    const receipts: RawReceipt[] = raw.some(hasNoPrice) ? withPrices(raw, await this.send('eth_getBlockByHash', [raw[0]?.blockHash, true])) : raw
    return receipts.map((receipt) => this._wrapTransactionReceipt(receipt as never, network))
  }

  /**
   * The blocks `from` to `to`, both included, as `getBlock` gives them, in order and without a hole:
   *
   *     for await (const block of provider.getBlocks(0, 'finalized', { prefetchTxs: true })) …
   *
   * Asked for ahead of the reader, as far as `maxBytes` allows, in the batches that the node takes; numbers and parent hashes are
   * checked. Throws `OptionError` at once for invalid options; rejects with ethers' errors where a call fails, and with
   * hexline's `IntegrityError` where blocks contradict each other.
   */
  getBlocks(from: number | bigint, to: BlockTag = 'latest', options: GetBlocksOptions = {}): AsyncGenerator<Block, void, undefined> {
    return this.#blocks(withCode(() => checkRangeOptions(from, to, options)))
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
        // What has come already is not for a provider that is gone.
        end.throwIfAborted()
      }
    } catch (error) {
      if (options.signal?.aborted && error === options.signal.reason) throw error
      const method = (error as { method?: string } | null)?.method ?? 'eth_getBlockByNumber'
      if (this.destroyed) throw new Destroyed().errorOf(method)
      if (isAnswer(error)) throw caused(this.getRpcError({ id: 0, method, params: [], jsonrpc: '2.0' }, { id: 0, error: errorObject(error) }), error)
      throw ethersError(error, method, this.client.endpoints)
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

/** What a provider is made of. */
function resolve(target: Target, options: HexlineProviderOptions) {
  return withCode(() => {
    const { ofEthers, ofClient } = splitOptions(options, isClient(target))
    return { ofEthers, ...clientFor(target, ofClient) }
  })
}

/** Options that are refused have ethers' code. */
function withCode<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw withEthersCode(error)
  }
}

function isByName(event: ProviderEvent | undefined): boolean {
  const { address = [] } = (event ?? {}) as EventFilter
  return ![address].flat().every((each) => isHexString(each))
}

/** Whether a formatter gives what another gives, on a block of every kind of transaction. */
function agree(a: (raw: unknown) => Block, b: (raw: unknown) => Block): boolean {
  try {
    return isSameBlock(a(sampleBlock()), b(sampleBlock()))
  } catch {
    return false
  }
}
