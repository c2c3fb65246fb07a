/**
 * Maps a source by `work`, in order, with at most `most` items in work at a time. Each result is
 * given as soon as it and those before it are there, even while the source is asked for its next
 * item. If the source or `work` fails, the results before the failure are given first.
 *
 * `end` is called when the stream ends, also when its consumer leaves it. It must make the source
 * stop waiting for its next item.
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
