import { IntegrityError } from '../../errors.ts'

/** How items are verified while later ones arrive. */
export interface VerifyAhead<T> {
  /** Throws, or rejects with, `IntegrityError` for a wrong item. */
  readonly verify: (item: T) => Promise<void> | void
  /** Another item in place of a wrong one. Rejects if there is none. */
  readonly replace: (item: T, fault: IntegrityError) => Promise<T>
  /**
   * Most items that are held because they, or some before them, are being verified. It may change.
   */
  readonly most: number
}

/** The place of an item in the order. `outcome` is undefined until the item is verified. */
interface Held<T> {
  outcome: { readonly item: T } | { readonly reason: unknown } | undefined
}

/**
 * Yields items in their order, each once it has been verified. Later items are taken from `source`
 * in the meantime, at most `most` of them. Rejects with the failure of the first item that failed,
 * after all items before it.
 */
export async function* verifiedAhead<T>(source: AsyncGenerator<T, void, undefined>, ahead: VerifyAhead<T>): AsyncGenerator<T, void, undefined> {
  const { verify, replace } = ahead
  const held: Held<T>[] = []
  let isTaking = false
  let isAtEnd = false
  let wake = () => {}

  const settle = (slot: Held<T>, outcome: NonNullable<Held<T>['outcome']>) => {
    slot.outcome = outcome
    wake()
  }
  const check = async (slot: Held<T>, item: T) => {
    try {
      await verify(item)
      settle(slot, { item })
    } catch (error) {
      if (!(error instanceof IntegrityError)) throw error
      settle(slot, { item: await replace(item, error) })
    }
  }
  const take = () => {
    isTaking = true
    source.next().then(
      ({ done, value }) => {
        isTaking = false
        if (done) isAtEnd = true
        else {
          const slot: Held<T> = { outcome: undefined }
          held.push(slot)
          check(slot, value as T).catch((reason) => settle(slot, { reason }))
        }
        wake()
      },
      (reason) => {
        isTaking = false
        isAtEnd = true
        held.push({ outcome: { reason } })
        wake()
      },
    )
  }

  try {
    for (;;) {
      if (!isTaking && !isAtEnd && held.length < ahead.most) take()
      const head = held[0]
      if (head?.outcome === undefined) {
        if (head === undefined && isAtEnd) return
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      held.shift()
      if ('reason' in head.outcome) throw head.outcome.reason
      yield head.outcome.item
    }
  } finally {
    // A `next` that is in flight ends when the source's signal is aborted.
    source.return().catch(() => {})
  }
}
