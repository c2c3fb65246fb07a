/** How much may be asked for ahead of whoever reads. */
export interface Bounds {
  /** Bytes in flight and held, together. */
  readonly maxBytes: number
  /** Items in flight and held, together. */
  readonly maxItems: number
  /** Size of an item until one has come, in bytes. */
  readonly assumedBytes: number
  /** Items may wait so long for their turn, at the rate at which others come, in ms. */
  readonly maxWaitMs: number
}

/** Items that may be asked for at any rate. */
const AT_LEAST = 32
/** Items asked for ahead to begin with: each that waits costs the garbage collector something. */
const AT_FIRST = 256
/** Part of the time that the event loop may be busy when more items ahead are still of use: a busy one gets no faster by them. */
const BUSY = 0.8
/** Over how long rate and business are measured, in ms. */
const MEASURE = 250

/** An item on its way. */
interface Slot<T> {
  value: T | undefined
  failure: { reason: unknown } | undefined
}

/** Part by which the expected size follows items that are smaller. It follows larger ones at once. */
const DECAY = 0.05

/**
 * The items `first` to `last` in order, several asked for at a time, and no more than `bounds` allow ahead of the reader: who
 * reads slowly asks slowly. Ends with the failure of the first item that fails, after all items before it.
 */
export async function* ordered<T extends { readonly bytes: number }>(
  first: bigint,
  last: bigint,
  ask: (number: bigint) => Promise<T>,
  bounds: Bounds,
): AsyncGenerator<T, void, undefined> {
  const slots: Slot<T>[] = []
  let next = first
  let head = 0
  let inFlight = 0
  let heldBytes = 0
  let expectedBytes = bounds.assumedBytes
  let isKnown = false
  let hasFailed = false
  let wake = () => {}
  let came = 0
  let since = performance.now()
  let business = performance.eventLoopUtilization()
  let window = Math.min(AT_FIRST, bounds.maxItems)
  let maxAhead = window

  const start = (number: bigint) => {
    const slot: Slot<T> = { value: undefined, failure: undefined }
    slots.push(slot)
    inFlight++
    ask(number).then(
      (value) => {
        inFlight--
        came++
        heldBytes += value.bytes
        if (!isKnown || value.bytes > expectedBytes) expectedBytes = value.bytes
        else expectedBytes += DECAY * (value.bytes - expectedBytes)
        isKnown = true
        slot.value = value
        wake()
      },
      (reason) => {
        inFlight--
        hasFailed = true
        slot.failure = { reason }
        wake()
      },
    )
  }
  const fill = () => {
    const now = performance.now()
    if (now - since > MEASURE) {
      const { utilization } = performance.eventLoopUtilization(business)
      if (utilization < BUSY) window = Math.min(bounds.maxItems, window * 2)
      // What is asked for far ahead of a slow node waits in line until its deadline.
      maxAhead = Math.min(window, Math.max(AT_LEAST, (came * bounds.maxWaitMs) / (now - since)))
      business = performance.eventLoopUtilization()
      came = 0
      since = now
    }
    while (next <= last && !hasFailed) {
      const ahead = slots.length - head
      if (ahead >= maxAhead || (ahead > 0 && heldBytes + (inFlight + 1) * expectedBytes > bounds.maxBytes)) break
      start(next++)
    }
  }

  for (let number = first; number <= last; number++) {
    fill()
    const slot = slots[head] as Slot<T>
    while (slot.value === undefined && slot.failure === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      // What came makes room for more, also when it is not yet this one's turn.
      fill()
    }
    if (slot.failure !== undefined) throw slot.failure.reason
    const { value } = slot as { value: T }
    slots[head++] = undefined as never
    if (head > 1024 && head * 2 > slots.length) {
      slots.splice(0, head)
      head = 0
    }
    heldBytes -= value.bytes
    yield value
  }
}
