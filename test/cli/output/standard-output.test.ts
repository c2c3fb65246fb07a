import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { standardOutput } from '../../../src/cli/output/standard-output.ts'
import { errorOf } from '../../support/server.ts'

/** A reader that accepts a chunk when `take` is called, or fails. */
function start({ isTTY = false, highWaterMark = 4 } = {}) {
  const chunks: string[] = []
  let next = (_?: Error) => {}
  const stream = new Writable({
    highWaterMark,
    write(chunk, _, done) {
      chunks.push(String(chunk))
      next = (error) => done(error ?? null)
    },
  })
  const stop = new AbortController()
  const output = standardOutput(Object.assign(stream, { isTTY }), stop)
  const takeAll = async () => {
    for (let i = 0; i < 20; i++) {
      next()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { output, stop, chunks, takeAll, fail: (code: string) => next(Object.assign(new Error(code), { code })) }
}

const line = (text: string) => [Buffer.from(text.slice(0, 2)), Buffer.from(text.slice(2))]

describe('a stream', () => {
  it('has room once the reader has taken the output', async () => {
    const { output, chunks, takeAll } = start()
    let hasRoom = false
    const written = output.write(line('first\n')).then(() => {
      hasRoom = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasRoom).toBe(false)
    await takeAll()
    await written
    expect(chunks.join('')).toBe('first\n')
  })

  it('is committed once all has been taken', async () => {
    const { output, chunks, takeAll } = start({ highWaterMark: 1000 })
    await output.write(line('first\n'))
    await output.write(line('second\n'))
    const committed = output.commit()
    await takeAll()
    await committed
    expect(chunks.join('')).toBe('first\nsecond\n')
  })

  it('that is abandoned keeps its complete lines, including the one that waited for room', async () => {
    const { output, stop, chunks, takeAll } = start()
    const written = output.write(line('first\n'))
    stop.abort(new Error('the job has failed'))
    await written
    const kept = output.abandon(() => {})
    await takeAll()
    expect(await kept).toEqual({ lines: 1, isCut: false })
    expect(chunks.join('')).toBe('first\n')
  })

  it.each([
    ['EPIPE', true],
    ['EIO', false],
  ])('that fails with %s stops the job, and reports it at the end; closed by its reader: %s', async (code, isClosed) => {
    const { output, stop, fail } = start()
    const written = output.write(line('first\n'))
    await new Promise((resolve) => setImmediate(resolve))
    fail(code)
    await written
    expect(stop.signal.reason).toMatchObject({ code })
    const error = await errorOf(output.commit())
    expect(error).toMatchObject({ code })
    expect(output.isClosedByReader).toBe(isClosed)
    expect(await output.abandon(() => {})).toBeUndefined()
  })

  it('is a terminal or not, and what is written to it stays', () => {
    expect([start().output.isTerminal, start({ isTTY: true }).output.isTerminal, start().output.isKept]).toEqual([false, true, true])
  })
})
