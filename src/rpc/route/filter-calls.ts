import { RpcError } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import { type Call, onlyHere, type Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { replyOf } from '../reply.ts'
import type { Endpoint } from './endpoint.ts'
import { Filters } from './filters.ts'
import type { Trait } from './protocol.ts'

/** A filter is gone when its endpoint has been out of use for this long, in ms. */
const LOST_MS = 30_000

/** Sends a call to any endpoint, and tells which one has answered. */
type SendToAny = (call: Call, trait: Trait, onAnswer?: (endpoint: Endpoint) => void) => Promise<Reply>

/**
 * Sends the calls that make a filter, ask it, or end it. Only the endpoint that made a filter knows
 * it. If that endpoint stays out of use, the call fails as if the node had dropped the filter, and
 * callers make another one.
 */
export class FilterCalls {
  readonly #filters = new Filters<Endpoint>()
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  readonly #sendToAny: SendToAny

  constructor(endpoints: readonly Endpoint[], clock: Clock, sendToAny: SendToAny) {
    this.#endpoints = endpoints
    this.#clock = clock
    this.#sendToAny = sendToAny
  }

  send(call: Call, trait: Trait): Promise<Reply> {
    if (trait.filter === 'makes') return this.#make(call, trait)
    const known = this.#filters.find(call.params[0])
    return known === undefined ? this.#sendToAny(call, trait) : this.#sendToMaker(call, trait, known.endpoint, known.id)
  }

  async #make(call: Call, trait: Trait): Promise<Reply> {
    let maker = this.#endpoints[0] as Endpoint
    const reply = await this.#sendToAny(call, trait, (endpoint) => {
      maker = endpoint
    })
    const made = reply.take()
    if (!(made instanceof Uint8Array)) return replyOf(this.#filters.add(maker, made), reply.bytes)
    return replyOf(Buffer.from(JSON.stringify(this.#filters.add(maker, JSON.parse(Buffer.from(made).toString())))), reply.bytes)
  }

  async #sendToMaker(call: Call, trait: Trait, maker: Endpoint, id: unknown): Promise<Reply> {
    // It may be back: without calls, nobody has asked.
    if (this.#leftMs(maker) <= 0 && maker.health.dueAt <= this.#clock.now()) {
      await maker.askHead(call.signal, call.deadline)
      call.signal?.throwIfAborted()
    }
    const leftMs = this.#leftMs(maker)
    if (leftMs <= 0) {
      // The filter stays known, so that its id is never that of another endpoint's filter.
      const message = 'filter not found: the endpoint that made it is out of use'
      throw new CallFailure(new RpcError({ code: -32000, message }, { method: call.method, endpoint: maker.name }), 0, maker.name)
    }
    const timeoutMs = leftMs < (call.timeoutMs ?? Number.POSITIVE_INFINITY) ? leftMs : call.timeoutMs
    const reply = await maker.ask({ ...onlyHere(call), timeoutMs, params: [id, ...call.params.slice(1)] }, trait)
    if (trait.filter === 'ends') this.#filters.drop(call.params[0])
    return reply
  }

  /**
   * For how long the endpoint's filters still count as there, in ms; infinite while it is not out,
   * or all are.
   */
  #leftMs({ health }: Endpoint): number {
    if (!health.isOut || !this.#endpoints.some((each) => !each.health.isOut && !each.wrong)) return Number.POSITIVE_INFINITY
    return health.outSince + LOST_MS - this.#clock.now()
  }
}
