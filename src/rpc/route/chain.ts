import { type ErrorKind, IntegrityError, NetworkError, TimeoutError } from '../../errors.ts'
import type { Call, Send } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { GIVEN_UP, MOVED } from '../queue/queue.ts'
import { questionFor } from './own-question.ts'
import type { Protocol } from './protocol.ts'

/** The chain that the endpoints of a client are on. */
export class Chain {
  /** The declared one, or else that of the first endpoint that answered a call and told it. */
  id: number | undefined
  /** It was declared, or some endpoint has answered a call. */
  isKnown = false
  /** Resolves once that is so. */
  readonly known: Promise<void>
  /** The endpoint that it is known from; undefined for the declared one. */
  #from: string | undefined
  #resolve: () => void = () => {}

  constructor(declared: number | undefined) {
    this.id = declared
    this.known = new Promise((resolve) => {
      this.#resolve = resolve
    })
    if (declared !== undefined) this.#know()
  }

  /**
   * The endpoint has answered: it is on the chain with this id, or does not tell. Gives the error
   * for another chain than the known one.
   */
  answered(id: number | undefined, endpoint: string): IntegrityError | undefined {
    this.#know()
    if (id === undefined) return undefined
    if (this.id === undefined) {
      this.id = id
      this.#from = endpoint
    }
    if (id === this.id) return undefined
    const whose = this.#from === undefined ? '' : ` (the chain of ${this.#from})`
    return new IntegrityError(`${endpoint} is taken out: it is on chain ${id}, not ${this.id}${whose}`, { endpoint })
  }

  #know(): void {
    this.isKnown = true
    this.#resolve()
  }
}

/** The id of an endpoint's chain, asked for beside `call`; undefined where it does not tell. */
export async function askChain(send: Send, call: Call, { askChain, chainOf }: Protocol): Promise<number | undefined> {
  try {
    const reply = await send(questionFor(call, askChain))
    return chainOf(reply.take())
  } catch (failure) {
    if (failure instanceof CallFailure && TELLS_NOTHING.includes(failure.error.kind)) return undefined
    throw failure
  }
}

/**
 * The failure of a call that was not sent, since the question for the chain failed before it. What
 * leaves open whether the question was answered says nothing about the call: that has not run.
 */
export function notSent(failure: unknown, { method }: Call, endpoint: string): unknown {
  // The question was given up with its endpoint; the call was not even in a POST there.
  if (failure === GIVEN_UP) return MOVED
  if (!(failure instanceof CallFailure) || !LEAVES_OPEN.includes(failure.error.kind)) return failure
  const { error } = failure
  const context = { method, endpoint, unsent: true, cause: error }
  if (error instanceof TimeoutError) return new CallFailure(new TimeoutError(error.message, context), 0, endpoint)
  return new CallFailure(new NetworkError(`${error.message}; ${method} was not sent`, context), 0, endpoint)
}

const LEAVES_OPEN: readonly ErrorKind[] = ['network', 'timeout', 'malformed', 'server']

/**
 * Failures of these kinds leave the chain unknown: a node that lacks the method may still be on the
 * right one.
 */
export const TELLS_NOTHING: readonly ErrorKind[] = ['unsupported', 'invalid', 'not-found', 'pruned', 'execution']
