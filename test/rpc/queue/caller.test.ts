import { describe, expect, test } from 'vitest'
import { answerTo, each, errorOf, gate, honest, read, refuse, right, silent } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf, sleep } = virtualWorld()

describe("an attempt's own timeout", () => {
  test('ends each attempt, and the call when all have failed', async () => {
    const server = await serve(silent)
    const error = await errorOf(read(clientOf(server.url).with({ timeoutMs: 300, attempts: 3 }), 1))
    expect(error).toMatchObject({ name: 'TimeoutError', kind: 'timeout', attempts: 3, endpoint: `127.0.0.1:${server.port}`, unsent: false })
    expect(error.message).toBe(`127.0.0.1:${server.port}: no whole reply within 300 ms`)
    expect(server.requests).toHaveLength(3)
    for (const { hungUp } of server.requests) await hungUp
  })

  test('is for its call alone: others of the same POST go on', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [patient, hasty] = [read(client, 1), read(client.with({ timeoutMs: 40, attempts: 1 }), 2)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError', attempts: 1 })
    open()
    expect(await patient).toEqual(answerTo([1]))
    expect(server.requests).toHaveLength(1)
  })

  test('is counted from the POST, not from the call: waiting in line is free', async () => {
    const { open, answer } = gate()
    const server = await serve(answer, honest)
    const client = clientOf(server.url, { concurrency: 1 })
    const first = read(client, 1)
    await server.received(1)
    const second = read(client.with({ timeoutMs: 500, attempts: 1 }), 2)
    void sleep(700).then(open)
    expect(await Promise.all([first, second])).toEqual([answerTo([1]), answerTo([2])])
  })

  test('starts anew when a refused batch is sent again in halves', async () => {
    let posts = 0
    const server = await serve(async (request, response) => {
      posts++
      if (request.isBatch) await sleep(300)
      await (request.isBatch ? refuse(-32600, 'batch too large') : each(right))(request, response)
    })
    const client = clientOf(server.url, { concurrency: 1 }).with({ timeoutMs: 600, attempts: 1 })
    expect(await Promise.all([1, 2, 3].map((i) => read(client, i)))).toEqual([1, 2, 3].map((i) => answerTo([i])))
    expect(posts).toBeGreaterThan(2)
  })

  test("of calls that were joined: each has its own, and the other's answer still comes", async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [hasty, patient] = [read(client.with({ timeoutMs: 40, attempts: 1 }), 1), read(client, 1)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError' })
    open()
    expect(await patient).toEqual(answerTo([1]))
    expect(server.requests.flatMap(({ entries }) => entries)).toHaveLength(1)
  })

  test('of the one that joined: the first goes on', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [patient, hasty] = [read(client, 1), read(client.with({ timeoutMs: 40, attempts: 1 }), 1)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError' })
    open()
    expect(await patient).toEqual(answerTo([1]))
  })

  test('does not outlast the deadline', async () => {
    const server = await serve(silent)
    const error = await errorOf(read(clientOf(server.url).with({ timeoutMs: 60_000, deadlineMs: 40 }), 1))
    expect(error).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('deadlineMs') })
  })
})
