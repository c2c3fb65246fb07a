import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished, vi } from 'vitest'

/** Time that passes only when the test says so, while real sockets and processes go on. */
export interface HeldTime {
  /** Lets this many ms pass at once. Resolves when what was due has happened. */
  pass(ms: number): Promise<unknown>
}

/**
 * Holds the time of this process until the test ends. A timeout cannot come before the event that
 * the test is waiting for, however slow or busy the machine is. To be called before clients are
 * made: their time must not go back.
 */
export function holdTime(): HeldTime {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  // 0 means never.
  vi.advanceTimersByTime(1)
  return { pass: (ms) => vi.advanceTimersByTimeAsync(ms) }
}

/**
 * Until the test ends, at most one ms passes in a turn of the event loop. When the process stands
 * still, so does its time, and what has arrived meanwhile is read before a timeout comes. To be
 * called before clients are made, as `holdTime`.
 */
export function steadyTime(): HeldTime {
  const time = holdTime()
  vi.setTimerTickMode('interval', 1)
  return time
}

/** Resolves when a client of this process has received `length` bytes of response bodies in all. */
export function bodyBytes(length: number): Promise<void> {
  return new Promise((resolve) => {
    let received = 0
    const onChunk = (message: unknown) => {
      received += (message as { chunk: Buffer }).chunk.length
      if (received < length) return
      unsubscribe('undici:request:bodyChunkReceived', onChunk)
      // The client itself gets the chunk after its subscribers.
      setImmediate(resolve)
    }
    subscribe('undici:request:bodyChunkReceived', onChunk)
    onTestFinished(() => void unsubscribe('undici:request:bodyChunkReceived', onChunk))
  })
}
