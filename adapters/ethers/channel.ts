import { type JsonRpcError, type JsonRpcPayload, type JsonRpcResult, makeError } from 'ethers'
import type { Client } from '../../src/client/client.ts'
import type { RpcError } from '../../src/errors.ts'
import { Destroyed, errorObject, ethersError, isAnswer } from './ethers-error.ts'
import { isGetUrlRegistered } from './target.ts'

export type Response = JsonRpcResult | JsonRpcError

/** A reply, and hexline's error under it if the node answered with an error. */
export interface Answer {
  readonly response: Response
  readonly cause?: RpcError
}

export interface ChannelOptions {
  /** How long calls wait for others to travel with, in ms. */
  readonly stallMs: number
  /** Ethers' `FetchRequest.registerGetUrl` does not concern it. */
  readonly isOwnTransport: boolean
  /** Aborted when the provider is destroyed. */
  readonly end: AbortSignal
}

/** Sends ethers' payloads as calls of a hexline client. */
export class Channel {
  readonly #client: Client
  readonly #options: ChannelOptions
  /** The wait for other calls that is under way. */
  #stall: Promise<void> | undefined

  constructor(client: Client, options: ChannelOptions) {
    this.#client = client
    this.#options = options
  }

  /** The node's reply, which may be an error. Rejects with an error of ethers' when there is none. */
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

  /** Throws where a function was registered to send ethers' requests. It is not bypassed: it may be the way through a proxy. */
  checkTransport(): void {
    if (this.#options.isOwnTransport || !isGetUrlRegistered()) return
    const operation = 'FetchRequest.registerGetUrl'
    throw makeError(`${operation} is not supported: give the provider an undici dispatcher`, 'UNSUPPORTED_OPERATION', { operation })
  }

  /** Waits for others, where the options ask for that. Calls that wait for the same timer travel together. */
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
