import type { HexlineError } from '../../errors.ts'
import type { Call, Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { copyError } from '../copy-error.ts'
import { routeEvents } from '../events.ts'
import type { Queue } from '../queue/queue.ts'
import { askChain, type Chain, notSent } from './chain.ts'
import type { Protocol } from './protocol.ts'

/**
 * The chain of one of several endpoints: asked for with its first calls, in the same POST. No
 * caller gets an answer from another chain than that of the others.
 */
export class OwnChain {
  /** Why the endpoint is never used again: it is on another chain. */
  wrong: HexlineError | undefined
  readonly #queue: Queue
  readonly #protocol: Protocol
  /** That of the others. */
  readonly #chain: Chain
  #isRight: boolean

  /** `isRight` where there is no need to ask. */
  constructor(queue: Queue, protocol: Protocol, chain: Chain, isRight: boolean) {
    this.#queue = queue
    this.#protocol = protocol
    this.#chain = chain
    this.#isRight = isRight
  }

  /** It is the right one, or there is no need to ask. */
  get isRight(): boolean {
    return this.#isRight
  }

  /** Sends a call, and asks for the chain. */
  async send(call: Call): Promise<Reply> {
    const checked = this.#ask(call).then((id) => this.#check(id, call))
    if (!call.safe) {
      await checked.catch((failure) => {
        throw notSent(failure, call, this.#queue.name)
      })
      return this.#queue.send(call)
    }
    const [chain, asked] = await Promise.allSettled([checked, this.#queue.send(call)])
    if (chain.status === 'rejected' && (this.wrong !== undefined || asked.status === 'fulfilled')) throw chain.reason
    if (asked.status === 'rejected') throw asked.reason
    return asked.value
  }

  /**
   * The same for a question of hexline's own. All endpoints are asked at once. The quickest must
   * not decide which chain is the right one: a call does.
   */
  async sendQuestion(question: Call): Promise<Reply> {
    const [chain, asked] = await Promise.allSettled([this.#ask(question), this.#queue.send(question)])
    if (chain.status === 'rejected') throw chain.reason
    await this.#chain.known
    this.#check(chain.value, question)
    if (asked.status === 'rejected') throw asked.reason
    return asked.value
  }

  #ask(call: Call): Promise<number | undefined> {
    return askChain((each) => this.#queue.send(each), call, this.#protocol)
  }

  /** Throws when it is another one than that of the others; the endpoint is never used again. */
  #check(id: number | undefined, call: Call): void {
    const { name } = this.#queue
    const fault = this.#chain.answered(id, name)
    if (fault === undefined) {
      this.#isRight = true
      return
    }
    if (this.wrong === undefined) {
      this.wrong = fault
      const change = { change: 'taken-out', endpoint: name, reason: 'wrong-chain', chainId: id as number, expectedChainId: this.#chain.id } as const
      if (routeEvents.hasSubscribers) routeEvents.publish(change)
    }
    throw new CallFailure(copyError(this.wrong, call.method), 1, name)
  }
}
