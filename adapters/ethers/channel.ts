import { type JsonRpcError, type JsonRpcPayload, type JsonRpcResult, makeError } from 'ethers'
import type { Client } from '../../src/client/client.ts'
import type { RpcError } from '../../src/errors.ts'
import { Destroyed, errorObject, ethersError, isAnswer } from './format/ethers-error.ts'
import { isGetUrlRegistered } from './target.ts'

type Response = JsonRpcResult | JsonRpcError

/** A reply, with hexline's error if the node answered with an error. */
export interface Answer {
  readonly response: Response
  readonly cause?: RpcError
}

export interface ChannelOptions {
  /** How long a call waits for others to join its batch, in ms. */
  readonly stallMs: number
  /**
   * Whether the caller chose how to send, so that ethers' `FetchRequest.registerGetUrl` does not
   * apply.
   */
  readonly isOwnTransport: boolean
  /** Aborted when the provider is destroyed. */
  readonly end: AbortSignal
}

/** Sends ethers' payloads as calls of a hexline client. */
export class Channel {
  readonly #client: Client
  readonly #options: ChannelOptions
  /** The wait that calls are joining now. */
  #stall: Promise<void> | undefined

  constructor(client: Client, options: ChannelOptions) {
    this.#client = client
    this.#options = options
  }

  /**
   * Resolves to the node's reply, which may be an error. Rejects with an error of ethers' if there
   * is no reply.
   */
  async send({ method, params, id }: JsonRpcPayload): Promise<Answer> {
    const { end } = this.#options
    if (end.aborted) throw new Destroyed().errorOf(method)
    this.checkTransport()
    try {
      const reply = await this.#client.send({ method, params: (params ?? []) as unknown[], signal: end })
      return { response: { jsonrpc: '2.0', id, result: reply.take() } as Response }
    } catch (error) {
      if (!isAnswer(error)) throw ethersError(error, method, this.#client.endpoints)
      return { response: { jsonrpc: '2.0', id, error: errorObject(error) } as Response, cause: error }
    }
  }

  /**
   * Throws if a function is registered that sends ethers' requests, since bypassing it might bypass
   * a proxy.
   */
  checkTransport(): void {
    if (this.#options.isOwnTransport || !isGetUrlRegistered()) return
    const operation = 'FetchRequest.registerGetUrl'
    throw makeError(`${operation} is not supported: give the provider an undici dispatcher`, 'UNSUPPORTED_OPERATION', { operation })
  }

  /**
   * Waits for other calls if the options ask for it. Calls that wait for the same timer go in one
   * batch.
   */
  stall(): Promise<void> | undefined {
    const { stallMs, end } = this.#options
    if (stallMs <= 0 || end.aborted) return undefined
    this.#stall ??= new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer)
        end.removeEventListener('abort', go)
        this.#stall = undefined
        resolve()
      }
      const timer = setTimeout(go, stallMs)
      end.addEventListener('abort', go)
    })
    return this.#stall
  }
}
