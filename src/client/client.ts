import { OptionError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import type { MethodName, MethodParams, MethodResult } from '../eth/methods.ts'
import type { SyncNotice } from '../eth/node-objects.ts'
import type { CallTraceOptions, TraceOptions } from '../eth/node-params.ts'
import type { Block, BlockAt, Header, Log, Receipt, Transaction } from '../eth/objects.ts'
import type { BlockId, BlockNumber, CallObject, Json } from '../eth/params.ts'
import type { BlockTrace, TraceOf } from '../eth/trace-objects.ts'
import type { Reply } from '../rpc/call.ts'
import { show } from '../text.ts'
import type { CallSettings } from './options.ts'
import type { LogSubscription, PendingSubscription, ReceiptSubscription, SubscribeOptions, Subscription } from './subscribe.ts'

/** A call for `client.send`, with its own settings. */
export interface Request extends CallSettings {
  readonly method: string
  readonly params?: readonly unknown[] | Readonly<Record<string, unknown>> | undefined
  /**
   * The format of the result: `value` parses it (default), `bytes` is the JSON that the node sent.
   */
  readonly as?: 'value' | 'bytes' | undefined
  /**
   * Treats a null result as a sign that the node lags: a failure, so that the call is sent again,
   * to another endpoint if possible.
   */
  readonly required?: boolean | undefined
}

/** A client for one or several Ethereum nodes. Also an EIP-1193 provider. */
export interface Client {
  /**
   * Calls a method with typed arguments and decodes its result:
   * `client.call('eth_getBlockByNumber', 21_000_000n, true)`. docs/methods.md lists the methods.
   * Rejects with `CodecError` before anything is sent if an argument is invalid, with `RpcError` if
   * the node answers with an error, and with other subclasses of `HexlineError` if there is no
   * usable reply. A read whose result cannot be decoded is sent to each other endpoint once, unless
   * the client is pinned.
   */
  call<At extends BlockNumber, Full extends boolean>(method: 'eth_getBlockByNumber', block: At, full: Full): Promise<BlockAt<At, Full> | null>
  call<Full extends boolean>(method: 'eth_getBlockByHash', blockHash: Hash, full: Full): Promise<Block<Full> | null>
  call<const O extends TraceOptions | null | undefined = undefined>(method: 'debug_traceTransaction', transactionHash: Hash, options?: O): Promise<TraceOf<O>>
  call<const O extends TraceOptions | null | undefined = undefined>(
    method: 'debug_traceBlockByNumber',
    block: BlockNumber,
    options?: O,
  ): Promise<BlockTrace<TraceOf<O>>[]>
  call<const O extends TraceOptions | null | undefined = undefined>(
    method: 'debug_traceBlockByHash',
    blockHash: Hash,
    options?: O,
  ): Promise<BlockTrace<TraceOf<O>>[]>
  call<const O extends CallTraceOptions | null | undefined = undefined>(
    method: 'debug_traceCall',
    call: CallObject,
    block?: BlockId | null,
    options?: O,
  ): Promise<TraceOf<O>>
  call<const O extends CallTraceOptions | null | undefined = undefined>(
    method: 'debug_traceCallMany',
    bundles: readonly Json[],
    context: Json,
    options?: O,
  ): Promise<TraceOf<O>[][]>
  call<M extends MethodName>(method: M, ...params: MethodParams<M>): Promise<MethodResult<M>>
  /** Calls any method with raw JSON params and result (EIP-1193). */
  request(
    request: { readonly method: string; readonly params?: readonly unknown[] | object | undefined },
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<unknown>
  /**
   * The pipeline that `call` and `request` use: any method, resolving to a reply that has not been
   * parsed yet. For libraries that build on hexline.
   */
  send(request: Request): Promise<Reply>
  /**
   * A client with the same sockets, queue and limits, and other settings for its calls. Closing it
   * does nothing.
   */
  with(settings: CallSettings): Client
  /**
   * A client for one logical action, so that a read after a write, or after a block number, never
   * sees an older head. All its calls go to one endpoint, the best one at the time of the first
   * call. If that endpoint fails a call, they move to another, but only to one that has the newest
   * block that their replies have mentioned (block numbers, blocks, receipts, transactions, logs).
   * Until there is one, they fail as `lagging` and are retried like any other call. Otherwise the
   * same as `with({})`.
   */
  pinned(): Client
  /**
   * New blocks' headers, logs, pending transactions, receipts of new blocks, or the progress of a
   * node's sync, as the node sends them over a WebSocket. `for await` gets each as `{ type:
   * 'value', value }`, and `{ type: 'gap' }` wherever something may have been missed. What comes
   * twice is passed on twice, and logs of replaced blocks come with `removed: true`. Throws
   * `OptionError` where no endpoint is a WebSocket, and for invalid options. The iterator throws
   * the error of a node that refuses, and `CodecError` for a value that cannot be decoded.
   */
  subscribe(event: 'newHeads', options?: SubscribeOptions): Subscription<Header>
  subscribe(event: 'logs', options?: LogSubscription): Subscription<Log>
  subscribe<Full extends boolean = false>(
    event: 'newPendingTransactions',
    options?: PendingSubscription<Full>,
  ): Subscription<Full extends true ? Transaction : Hash>
  subscribe(event: 'syncing', options?: SubscribeOptions): Subscription<SyncNotice | boolean>
  subscribe(event: 'transactionReceipts', options?: ReceiptSubscription): Subscription<Receipt[]>
  /**
   * Whether a method can be called: true if an endpoint has it, since calls move to that one; false
   * if none has it; undefined where that could not be found. Endpoints that have not been asked get
   * a call of the method without arguments, which they refuse if they have it. Methods that change
   * something are not called: of these it is known only that they are missing, from `rpc_modules`
   * and from earlier calls. An endpoint whose `eth_capabilities` say that it has none of the data
   * does not have the method. Answers are believed for 10 minutes. Rejects with `OptionError` for
   * anything but a name, with `ClosedError`, and with the reason of the client's signal.
   */
  supports(method: string): Promise<boolean | undefined>
  /**
   * Scheme, host and port of each endpoint, in order, such as `https://rpc.example.com`; never the
   * path, which may hold the key.
   */
  readonly endpoints: readonly string[]
  /**
   * Ends every pending call with `ClosedError`, and closes the connections. Later calls reject with
   * `ClosedError`.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Whether this is a client of `createClient`, or an object with the same methods. */
export function isClient(value: unknown): value is Client {
  return typeof (value as Client | undefined)?.send === 'function' && typeof (value as Client).with === 'function'
}

/** Checks that an argument is a client. Throws `OptionError`, which does not show a URL. */
export function checkClient(value: unknown, name = 'client'): void {
  if (isClient(value)) return
  throw new OptionError(name, 'a client, as createClient returns it', typeof value === 'string' ? 'a string' : show(value))
}
