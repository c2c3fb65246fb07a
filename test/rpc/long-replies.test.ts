import { describe, expect, test } from 'vitest'
import { RpcError, ServiceError } from '../../src/index.ts'
import { operations } from '../support/rest-operations.ts'
import { always as answers, serveRest } from '../support/rest-server.ts'
import { type Answer, always, clientOf, each, errorOf, read, serve } from '../support/server.ts'

const KEY = 'k9zQwv8SECRETkeyOfTheURL0123456789'
const KiB = 1024
const headers = { 'x-api-key': 'a header "with" back\\slashes/and more' }

/** The error of a read that is answered so. */
async function failure<E = RpcError>(answer: Answer): Promise<E> {
  const server = await serve(answer)
  return errorOf(read(clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers, deadlineMs: 20_000 }), 1)) as Promise<E>
}

function refusal(error: object): Answer {
  return each(({ id }) => ({ id, error }))
}

describe('a long error costs what its length costs, and no more', () => {
  const hostile: [string, (length: number) => Answer][] = [
    ['ranges in a message', (length) => logs({ code: -32000, message: 'range '.repeat(length / 6) })],
    ['ranges in the data', (length) => logs({ code: -32602, message: 'invalid params', data: 'range '.repeat(length / 6) })],
    ['ranges in an object of the data', (length) => logs({ code: -32602, message: 'invalid params', data: { said: 'range '.repeat(length / 6) } })],
    ['digits in a message', (length) => logs({ code: -32005, message: `too many requests, retry in ${'1'.repeat(length)}` })],
    ['digits in the data', (length) => logs({ code: -32005, message: 'rate limit', data: { try_again_in: '1'.repeat(length) } })],
    ['backslashes in a message', (length) => logs({ code: 1, message: '\\'.repeat(length) })],
    ['backslashes in the data', (length) => logs({ code: 1, message: 'no', data: ['\\'.repeat(length), '\\'.repeat(length)] })],
    ['digits in a body', (length) => always('1'.repeat(length), { status: 500 })],
  ]
  const logs = (error: object): Answer => refusal(error)

  test.each(hostile)('%s', async (_, answer) => {
    const timeOf = async (length: number) => {
      const server = await serve(answer(length))
      const client = clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers, deadlineMs: 60_000 })
      let least = Number.POSITIVE_INFINITY
      for (let i = 0; i < 4; i++) {
        const error = errorOf(client.with({ whilePaused: 'fail' }).request({ method: 'eth_getLogs', params: [{}] }))
        const begun = process.cpuUsage()
        await error
        const { user, system } = process.cpuUsage(begun)
        // An endpoint that throttles is left alone: then only the first one is a call.
        if (i === 0 || server.requests.length > i) least = Math.min(least, user + system)
      }
      return least
    }
    await timeOf(KiB)
    const [short, long] = [await timeOf(16 * KiB), await timeOf(32 * 16 * KiB)]
    // 32 times as long: 1,024 times the time, were it to grow with the square.
    expect(long / Math.max(short, 1000)).toBeLessThan(200)
  })
})

describe('what an error keeps of it', () => {
  test('of a message: 4,096 characters, and no half of a key at their end', async () => {
    for (const before of [0, 4000, 4080, 4096, 12_200, 12_280]) {
      const error = await failure(refusal({ code: -32000, message: `${'x'.repeat(before)} ${KEY} ${'y'.repeat(20_000)}` }))
      expect(error.message.length).toBeLessThanOrEqual(4096)
      expect(error.said.length).toBeLessThanOrEqual(4096)
      for (const text of [error.message, error.said]) expect(text).toMatch(/\.\.\.$/)
      expect(`${error.message}${error.stack}${JSON.stringify(error.object)}`).not.toContain(KEY.slice(0, 6))
    }
  })

  test('of hex data: all of it, up to a size that no revert has', async () => {
    const revert = `0x08c379a0${'00ab'.repeat(KiB * KiB - 16)}`
    expect((await failure(refusal({ code: 3, message: 'execution reverted', data: revert }))).data).toBe(revert)
    const longer = (await failure(refusal({ code: 3, message: 'execution reverted', data: `0x${'00'.repeat(3 * KiB * KiB)}` }))).data as string
    expect(longer.length).toBeLessThan(70 * KiB)
    // Cut hex must not pass for whole hex.
    expect(longer).toMatch(/^0x0.*\.\.\.$/)
  })

  test('of hex data: nothing of the key in it', async () => {
    const server = await serve(refusal({ code: 3, message: 'no', data: `0x${'ab'.repeat(50)}0123456789abcdef01` }))
    const error = await errorOf<RpcError>(read(clientOf(`${server.url}/0123456789abcdef01`, { retry: false }), 1))
    expect(error.data).toBe(`0x${'ab'.repeat(50)}[hidden]`)
  })

  test('of other data: 64 Ki characters and 10,000 values, whatever stands beside it', async () => {
    const { data, object } = await failure(
      refusal({ junk: 'z'.repeat(200_000), code: 1, message: 'no', data: { first: 'words', list: Array.from({ length: 50_000 }, (_, i) => i), last: 1 } }),
    )
    const { first, list } = data as { first: string; list: number[] }
    expect(first).toBe('words')
    expect(list.slice(0, 3)).toEqual([0, 1, 2])
    expect(list.length).toBeLessThanOrEqual(10_000)
    expect(JSON.stringify(object).length).toBeLessThan(300_000)
  })

  test('of what is nested without end: the outer levels', async () => {
    const deep = (levels: number) => `${'['.repeat(levels)}"x"${']'.repeat(levels)}`
    for (const member of ['"message"', '"message":"no","data"', '"message":"no","other"']) {
      const server = await serve(({ entries }, response) => void response.end(`{"id":${entries[0]?.id},"error":{"code":1,${member}:${deep(50_000)}}}`))
      expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toBeInstanceOf(RpcError)
    }
  })

  test('of a refusal that all calls of a batch are told: each the same', async () => {
    const server = await serve(always({ error: { code: -32000, message: 'batch too large', data: '\\'.repeat(KiB * KiB) } }))
    const client = clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers })
    const errors = await Promise.all(Array.from({ length: 100 }, (_, i) => errorOf<RpcError>(read(client, i))))
    expect(new Set(errors.map(({ kind }) => kind)).size).toBe(1)
    expect(String(errors[0]?.data).length).toBeLessThanOrEqual(64 * KiB)
  })

  test('of the body of a service: the same', async () => {
    const server = await serveRest(answers({ message: 'm'.repeat(100_000), more: 'n'.repeat(500_000) }, { status: 400 }))
    const { call, params } = operations.getWalletTokens
    const error = await errorOf<ServiceError>(Promise.resolve(call(server.service, params, { retry: false })))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message.length).toBeLessThan(1000)
    expect(error.said).toHaveLength(4096)
    expect(JSON.stringify(error.body).length).toBeLessThan(70 * KiB)
  })
})
