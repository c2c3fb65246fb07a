import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { print, printJson, printText } from '../../../src/cli/output/print.ts'
import { errorOf } from '../../support/server.ts'

/** A slow stream, which may fail with a code from the `n`th chunk on. */
function start({ isTTY = false, failsAt = Number.POSITIVE_INFINITY, code = 'EPIPE' }: { isTTY?: boolean; failsAt?: number; code?: string } = {}) {
  const chunks: string[] = []
  const stream = new Writable({
    highWaterMark: 4,
    write(chunk, _, done) {
      const error = chunks.length + 1 >= failsAt ? Object.assign(new Error(code), { code }) : null
      if (error === null) chunks.push(String(chunk))
      setImmediate(() => done(error))
    },
  })
  return { stdout: Object.assign(stream, { isTTY }), chunks }
}

describe('print', () => {
  it('resolves once everything is written, however slow the reader is', async () => {
    const { stdout, chunks } = start()
    await print(stdout, async (write) => {
      for (const line of ['one\n', 'two\n', 'three\n']) await write(line)
    })
    expect(chunks.join('')).toBe('one\ntwo\nthree\n')
  })

  it('ends silently if the reader has closed it, without reading on', async () => {
    const { stdout, chunks } = start({ failsAt: 2 })
    let written = 0
    await print(stdout, async (write) => {
      for (; written < 100; written++) await write('a line\n')
    })
    expect(chunks).toHaveLength(1)
    expect(written).toBeLessThan(10)
  })

  it('rejects with any other error, after the earlier output', async () => {
    const { stdout, chunks } = start()
    const error = new Error('no')
    expect(
      await errorOf(
        print(stdout, async (write) => {
          await write('one\n')
          throw error
        }),
      ),
    ).toBe(error)
    expect(chunks.join('')).toBe('one\n')
    const full = start({ failsAt: 1, code: 'ENOSPC' })
    expect(await errorOf(printText(full.stdout, 'one\n'))).toMatchObject({ code: 'ENOSPC' })
  })
})

it.each([
  [false, '{\r"a":"\u202e"}\n'],
  [true, '{ "a":"\\u202e"}\n'],
])("a server's JSON, on a terminal: %s", async (isTTY, expected) => {
  const { stdout, chunks } = start({ isTTY })
  await printJson(stdout, Buffer.from('{\r"a":"\u202e"}'))
  expect(chunks.join('')).toBe(expected)
})
