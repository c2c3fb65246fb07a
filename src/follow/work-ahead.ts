/**
 * What `work` makes of each item of a source, in order, with at most this many at work. The first
 * is given as soon as it is there, while the source is asked for more. What comes before a failure
 * is given first. `end` is called at the end, also of a stream that is left: it makes the source
 * give up what it is asked for.
 */
export async function* workAhead<T, U>(
  source: AsyncGenerator<T, void, undefined>,
  most: number,
  work: (item: T) => Promise<U>,
  end: () => void,
): AsyncGenerator<U, void, undefined> {
  const atWork: Promise<U>[] = []
  let failure: { readonly error: unknown } | undefined
  let isAtEnd = false
  /** Settles when the source has given the item that it is asked for. */
  let asked: Promise<void> | undefined
  const ask = async () => {
    try {
      const next = await source.next()
      if (next.done) isAtEnd = true
      else atWork.push(handled(work(next.value)))
    } catch (error) {
      failure = { error }
      isAtEnd = true
    }
    asked = undefined
  }
  try {
    for (;;) {
      if (!isAtEnd && atWork.length < most) asked ??= ask()
      const [first] = atWork
      if (first === undefined && asked === undefined) break
      const isDone = first !== undefined && (await isSettledBefore(first, asked))
      if (!isDone) {
        await asked
        continue
      }
      atWork.shift()
      yield await first
    }
  } finally {
    end()
    await source.return()
  }
  if (failure !== undefined) throw failure.error
}

/** Whether the first promise settles before the other one. */
function isSettledBefore(first: Promise<unknown>, other: Promise<unknown> | undefined): Promise<boolean> {
  const settled = first.then(
    () => true,
    () => true,
  )
  return other === undefined ? settled : Promise.race([settled, other.then(() => false)])
}

/** It may fail before its turn comes. */
function handled<U>(promise: Promise<U>): Promise<U> {
  promise.catch(() => {})
  return promise
}
