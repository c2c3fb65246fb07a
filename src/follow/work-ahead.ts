/**
 * What `work` makes of each item of a source, in order, with at most this many at work. What comes
 * before a failure is given first.
 */
export async function* workAhead<T, U>(
  source: AsyncGenerator<T, void, undefined>,
  most: number,
  work: (item: T) => Promise<U>,
): AsyncGenerator<U, void, undefined> {
  const atWork: Promise<U>[] = []
  let failure: { readonly error: unknown } | undefined
  let isAtEnd = false
  try {
    for (;;) {
      while (!isAtEnd && atWork.length < most) {
        try {
          const next = await source.next()
          if (next.done) isAtEnd = true
          else atWork.push(handled(work(next.value)))
        } catch (error) {
          failure = { error }
          isAtEnd = true
        }
      }
      const first = atWork.shift()
      if (first === undefined) break
      yield await first
    }
  } finally {
    await source.return()
  }
  if (failure !== undefined) throw failure.error
}

/** It may fail before its turn comes. */
function handled<U>(promise: Promise<U>): Promise<U> {
  promise.catch(() => {})
  return promise
}
