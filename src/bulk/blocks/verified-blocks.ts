import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'
import { scrubError } from '../../client/scrub-error.ts'
import { IntegrityError } from '../../errors.ts'
import { Link, type Linked, type LinkedReceipt } from '../link.ts'
import { WrongReplies } from '../wrong-replies.ts'
import { type Arrivals, type Arrived, releaseArrived } from './arrivals.ts'
import type { Fetched, Fetcher } from './fetch.ts'
import type { Persistence } from './persistence.ts'
import type { BlockReader } from './read-block.ts'
import type { Suspects } from './suspects.ts'
import { verifiedAhead } from './verify-ahead.ts'
import type { Verifying } from './verifying.ts'

/** How blocks are verified, and where others come from in place of wrong ones. */
export interface VerifiedBlocksOptions<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }> {
  readonly client: Client
  readonly fetcher: Fetcher
  readonly arrivals: Arrivals<B, R, unknown>
  readonly whole: BlockReader<B, R, unknown>['whole']
  readonly suspects: Suspects
  /** For wrong blocks. */
  readonly persistence: Pick<Persistence, 'waits'> | undefined
  readonly verifying: Verifying
  readonly stop: AbortSignal
}

/**
 * Verifies blocks, and links each of them to the one before it. A wrong one is requested again,
 * from another endpoint if there is one.
 */
export class VerifiedBlocks<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }> {
  readonly #options: VerifiedBlocksOptions<B, R>
  readonly #link = new Link()

  constructor(options: VerifiedBlocksOptions<B, R>) {
    this.#options = options
  }

  /**
   * These blocks, which are in order and may be wrong, each verified and linked. Rejects with
   * `IntegrityError` for one that no endpoint gives right.
   */
  async *of(blocks: AsyncGenerator<Arrived<B, R>, void, undefined>): AsyncGenerator<Arrived<B, R>, void, undefined> {
    const { verifying } = this.#options
    const verified = verifiedAhead(blocks, {
      verify: (block) => this.#verify(block),
      replace: (block, fault) => this.#replacement(block, fault),
      get most() {
        return verifying.most
      },
    })
    for await (const block of verified) yield await this.#linked(block)
  }

  /**
   * The verified block, or another one in its place that follows the previous block. That can be
   * checked only now: where the previous block was replaced, its hash was not known before.
   */
  async #linked(verified: Arrived<B, R>): Promise<Arrived<B, R>> {
    const { client, suspects } = this.#options
    const { number, origins } = verified.fetched
    const fault = this.#link.faultOf(number, verified.block.linked)
    const linked =
      fault === undefined ? verified : await this.#replacement(verified, scrubError(fault, connectionsOf(client), origins.block) as IntegrityError, this.#link)
    this.#link.follow(number, linked.block.linked)
    if (!linked.isReplacement) suspects.right(origins.block.endpoint)
    return linked
  }

  /** Throws, or rejects with, `IntegrityError` for a wrong block. It must follow `previous`. */
  #verify(arrived: Arrived<B, R>, previous?: Link): Promise<void> | void {
    const { arrivals, verifying, whole } = this.#options
    const { fetched, block, receipts, json, fault } = arrived
    return arrivals.withOrigin(fetched, () => {
      // A new link has no previous block: it only checks that this is the requested one.
      const wrong = (previous ?? new Link()).faultOf(fetched.number, block.linked) ?? fault
      if (wrong !== undefined) throw wrong
      const proof = verifying.verify(json, whole?.(block, receipts))
      if (proof instanceof Promise) return proof.then((proven) => void Object.assign(arrived, { proof: proven }))
      arrived.proof = proof
    })
  }

  /** The same block, from another endpoint if there is one. */
  async #replacement(wrong: Arrived<B, R>, fault: IntegrityError, previous?: Link): Promise<Arrived<B, R>> {
    const { client, fetcher, arrivals, persistence, stop } = this.#options
    const wrongReplies = new WrongReplies(client, persistence?.waits)
    let last = { arrived: wrong, fault }
    while (await wrongReplies.mayAskAgain('eth_getBlockByNumber', suspectOf(last.arrived.fetched, last.fault), stop)) {
      releaseArrived(last.arrived)
      const fetched = await fetcher.fetchUrgent(wrong.fetched.number, stop, wrongReplies.endpoints)
      const arrived = await arrivals.arrive(fetched, stop, undefined, undefined, wrongReplies)
      try {
        await this.#verify(arrived, previous)
        arrivals.replaced(arrived, wrongReplies)
        return arrived
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        last = { arrived, fault: error }
      }
    }
    throw fault
  }
}

/** The endpoint that gave what is wrong. Receipts requested one by one have no single origin. */
function suspectOf({ origins }: Fetched, { field = '' }: IntegrityError): string | undefined {
  const isOfReceipts = field.startsWith('receipts') || field === 'logsBloom'
  return (isOfReceipts && origins.receipts?.endpoint) || origins.block.endpoint
}
