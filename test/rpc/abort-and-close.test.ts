import { spawn } from 'node:child_process'
import { getEventListeners } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Client, type ClientOptions, ClosedError, TimeoutError } from '../../src/index.ts'
import { eventually } from '../support/eventually.ts'
import { bodyBytes, holdTime, steadyTime } from '../support/held-time.ts'
import { nightly } from '../support/runs.ts'
import {
  type Answer,
  always,
  answerTo,
  clientOf,
  type Entry,
  errorOf,
  failed,
  gate,
  honest,
  read,
  refuse,
  right,
  serve,
  silent,
  type TestServer,
} from '../support/server.ts'

const busyForAMinute = refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '60' } })
const failsForAMinute = always('oops', { status: 500, headers: { 'retry-after': '60' } })

/** A call that is held at some stage, and how it gets there. */
interface Stage {
  readonly name: string
  readonly answers: [Answer, ...Answer[]]
  readonly options?: ClientOptions
  /** Runs before the call. */
  prepare?(client: Client, server: TestServer): Promise<unknown>
  /** Resolves when the call has reached that stage. */
  reached(server: TestServer, client: Client): Promise<unknown>
  /** POSTs that the call itself was in. */
  readonly sent: number
}

const stages: Stage[] = [
  { name: 'before it is sent', answers: [honest], reached: async () => {}, sent: 0 },
  {
    name: 'waiting in line',
    answers: [silent],
    options: { concurrency: 1 },
    prepare: async (client, server) => {
      read(client, 'occupies the slot').catch(() => {})
      await server.received(1)
    },
    reached: () => turn(),
    sent: 0,
  },
  { name: 'in flight', answers: [silent], reached: (server) => server.received(1), sent: 1 },
  {
    name: 'in the middle of its body',
    answers: [
      async (request, response) => {
        response.write('{"jsonrpc":"2.0",')
        await request.hungUp
      },
    ],
    reached: (server) => server.received(1),
    sent: 1,
  },
  {
    name: 'in back-off',
    answers: [failsForAMinute, honest],
    options: { concurrency: 1 },
    reached: async (server, client) => {
      await server.received(1)
      // With one POST at a time, a reply to this one means that the call has failed, and waits for
      // its next attempt.
      await read(client, 'passes')
    },
    sent: 1,
  },
  {
    name: 'in a pause of its endpoint',
    answers: [busyForAMinute],
    prepare: (client) => errorOf(read(client.with({ attempts: 1 }), 'is refused')),
    reached: () => turn(),
    sent: 0,
  },
]

async function standing(stage: Stage, settings: (client: Client) => Client = (client) => client) {
  const server = await serve(...stage.answers)
  const client = clientOf(server.url, { deadlineMs: 100_000, ...stage.options })
  await stage.prepare?.(client, server)
  const error = errorOf(read(settings(client), 'stands'))
  await stage.reached(server, client)
  const timesSent = () => server.requests.filter(({ entries }) => entries.some(({ params }) => params[0] === 'stands')).length
  return { server, client, error, timesSent }
}

describe('an aborted call', () => {
  test.each(stages)('$name rejects with the signal’s own reason', async (stage) => {
    const aborter = new AbortController()
    const { error, timesSent } = await standing(stage, (client) => client.with({ signal: aborter.signal }))
    const reason = { why: 'enough' }
    aborter.abort(reason)
    expect(await error).toBe(reason)
    await turn()
    expect(timesSent()).toBe(stage.sent)
  })

  test('that is already aborted sends nothing', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const error = await errorOf(client.request({ method: 'eth_getBalance', params: [] }, { signal: AbortSignal.abort() }))
    expect(error.name).toBe('AbortError')
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(server.requests).toHaveLength(1)
  })

  test('by AbortSignal.timeout rejects with its TimeoutError', async () => {
    const server = await serve(silent)
    const error = await errorOf(clientOf(server.url).request({ method: 'eth_getBalance', params: [] }, { signal: AbortSignal.timeout(30) }))
    expect(error).toBeInstanceOf(DOMException)
    expect(error.name).toBe('TimeoutError')
  })

  test('with two signals rejects with the reason of the one that aborts', async () => {
    for (const which of [0, 1]) {
      const server = await serve(silent)
      const aborters = [new AbortController(), new AbortController()] as const
      const client = clientOf(server.url).with({ signal: aborters[0].signal })
      const error = errorOf(client.request({ method: 'eth_getBalance', params: [] }, { signal: aborters[1].signal }))
      await server.received(1)
      aborters[which]?.abort(`by ${which}`)
      expect(await error).toBe(`by ${which}`)
    }
  })

  test('with two signals has one listener on each, however many calls share them, and leaves none when it has ended', async () => {
    const { open, answer } = gate()
    const server = await serve(answer, silent)
    const aborters = [new AbortController(), new AbortController()] as const
    const listeners = () => aborters.map(({ signal }) => getEventListeners(signal, 'abort').length)
    const client = clientOf(server.url).with({ signal: aborters[0].signal })
    const ask = (n: number) => client.request({ method: 'eth_getBalance', params: [n] }, { signal: aborters[1].signal })
    const answered = Promise.all([1, 2, 3].map(ask))
    await server.received(1)
    expect(listeners()).toEqual([1, 1])
    open()
    await answered
    expect(listeners()).toEqual([0, 0])

    const aborted = [4, 5].map((n) => errorOf(ask(n)))
    await server.received(2)
    aborters[1].abort('enough')
    expect(await Promise.all(aborted)).toEqual(['enough', 'enough'])
    expect(listeners()).toEqual([0, 0])
    expect(await errorOf(ask(6))).toBe('enough')
    expect(listeners()).toEqual([0, 0])
  })

  test('whose reason is a hexline error, of another call for example, does not count as its own failure', async () => {
    const server = await serve(silent)
    const aborter = new AbortController()
    const reason = Object.freeze(new TimeoutError('another call'))
    const error = errorOf(clientOf(server.url).with({ signal: aborter.signal }).request({ method: 'eth_getBalance', params: [] }))
    await server.received(1)
    aborter.abort(reason)
    expect(await error).toBe(reason)
    expect(server.requests).toHaveLength(1)
  })

  test.each([undefined, { percentile: 0.9, maxExtra: 0.1 }])('nor does it to the router, with %o for hedging', async (hedge) => {
    const [a, b] = [await serve(silent), await serve(silent)]
    const aborter = new AbortController()
    const reason = Object.freeze(new TimeoutError('another call'))
    const client = clientOf([a.url, b.url], hedge && { hedge })
    const error = errorOf(client.with({ signal: aborter.signal }).request({ method: 'eth_getBalance', params: [] }))
    await Promise.race([a.received(1), b.received(1)])
    aborter.abort(reason)
    expect(await error).toBe(reason)
  })
})

describe('the socket of a POST', () => {
  test('is cut once its last caller has left', async () => {
    const server = await serve(silent)
    const client = clientOf(server.url)
    const aborters = [new AbortController(), new AbortController()]
    const errors = aborters.map(({ signal }, i) => errorOf(read(client.with({ signal }), i)))
    const { hungUp } = await server.received(1)
    for (const aborter of aborters) aborter.abort()
    await Promise.all(errors)
    await hungUp
  })

  test('is kept while another call of the batch waits, which gets its answer', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const aborter = new AbortController()
    const gone = errorOf(read(client.with({ signal: aborter.signal }), 'gone'))
    const stays = read(client, 'stays')
    const { socket } = await server.received(1)
    aborter.abort()
    await gone
    await turn()
    open()
    expect(await stays).toEqual(answerTo(['stays']))
    expect(socket.destroyed).toBe(false)
    expect(server.opened).toBe(1)
  })

  test('is cut when the last of the calls passes its deadline', async () => {
    const server = await serve(silent)
    const time = holdTime()
    const client = clientOf(server.url)
    const errors = [50, 90].map((deadlineMs) => errorOf(read(client.with({ deadlineMs }), deadlineMs)))
    const { hungUp } = await server.received(1)
    await time.pass(90)
    for (const error of await Promise.all(errors)) expect(error).toBeInstanceOf(TimeoutError)
    await hungUp
  })

  test('is given up before it is connected', async () => {
    // A server that accepts nothing: the backlog of a stopped listener takes the connection, and
    // TLS never replies.
    const mute = net.createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void mute.close())
    const aborter = new AbortController()
    const client = clientOf(`https://127.0.0.1:${(mute.address() as AddressInfo).port}`)
    const connected = new Promise((resolve) => mute.once('connection', resolve))
    const error = errorOf(read(client.with({ signal: aborter.signal }), 0))
    await connected
    const started = performance.now()
    aborter.abort('enough')
    expect(await error).toBe('enough')
    // undici alone takes ten seconds for this.
    expect(performance.now() - started).toBeLessThan(5_000)
    await client.close()
  })

  test('frees its slot when it is cut', async () => {
    const server = await serve(silent, honest)
    const client = clientOf(server.url, { concurrency: 1 })
    const aborter = new AbortController()
    const gone = errorOf(read(client.with({ signal: aborter.signal }), 'gone'))
    await server.received(1)
    const next = read(client, 'next')
    aborter.abort()
    await gone
    expect(await next).toEqual(answerTo(['next']))
  })
})

describe('close', () => {
  test.each(stages)('ends a call $name with ClosedError', async (stage) => {
    const { server, client, error, timesSent } = await standing(stage)
    await client.close()
    expect(await error).toBeInstanceOf(ClosedError)
    expect(await error).toMatchObject({ kind: 'closed', message: 'the client was closed', method: 'eth_getBalance' })
    expect(timesSent()).toBe(stage.sent)
    await eventually(() => expect(server.sockets.size).toBe(0))
  })

  test('ends calls with their own signals, too', async () => {
    const server = await serve(silent)
    const client = clientOf(server.url)
    const errors = [1, 2].map((i) => errorOf(read(client.with({ signal: new AbortController().signal }), i)))
    await server.received(1)
    await client.close()
    for (const error of await Promise.all(errors)) expect(error).toBeInstanceOf(ClosedError)
  })

  test('is final: later calls are refused, each with its own error', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    await read(client, 1)
    await client.close()
    const [a, b] = await Promise.all([errorOf(read(client, 2)), errorOf(client.with({ priority: 'bulk' }).request({ method: 'eth_getCode', params: [] }))])
    expect(a).toBeInstanceOf(ClosedError)
    expect(a).toMatchObject({ kind: 'closed', message: 'the client is closed' })
    expect(a).not.toBe(b)
    expect([a, b].map((error) => error?.method)).toEqual(['eth_getBalance', 'eth_getCode'])
    expect(server.requests).toHaveLength(1)
  })

  test('may be called again, and by `await using`', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    await read(client, 1)
    await Promise.all([client.close(), client.close()])
    await client.close()
    await client[Symbol.asyncDispose]()
    await eventually(() => expect(server.sockets.size).toBe(0))
  })

  test('before any call opens no socket', async () => {
    const server = await serve(honest)
    await clientOf(server.url).close()
    expect(server.opened).toBe(0)
  })
})

describe('the deadline', () => {
  test.each(stages.filter(({ name }) => !/back-off|pause|before/.test(name)))('ends a call $name', async (stage) => {
    const time = holdTime()
    const { error, timesSent } = await standing(stage, (client) => client.with({ deadlineMs: 150 }))
    await time.pass(150)
    expect(await error).toBeInstanceOf(TimeoutError)
    expect(await error).toMatchObject({ kind: 'timeout', method: 'eth_getBalance', unsent: stage.sent === 0, message: expect.stringContaining('deadlineMs') })
    expect(timesSent()).toBe(stage.sent)
  })

  test('before the end of a back-off or a pause ends the call at once, with the node’s own error', async () => {
    for (const answer of [failsForAMinute, busyForAMinute]) {
      const server = await serve(answer)
      const client = clientOf(server.url, { deadlineMs: 30_000 })
      const started = performance.now()
      expect(await errorOf(read(client, 1))).toMatchObject({ name: expect.stringMatching(/RpcError|HttpError/), retryAfterMs: 60_000 })
      expect(performance.now() - started).toBeLessThan(15_000)
    }
  })

  test('covers all attempts', async () => {
    steadyTime()
    const server = await serve(always('oops', { status: 500 }))
    const client = clientOf(server.url, { deadlineMs: 200, retry: { attempts: 1_000_000, baseDelayMs: 5, maxDelayMs: 5 } })
    const started = performance.now()
    const error = await errorOf(read(client, 1))
    expect(performance.now() - started).toBeGreaterThan(150)
    expect(error.attempts).toBeGreaterThan(2)
  })

  test('may be infinite', async () => {
    const server = await serve(honest)
    expect(await read(clientOf(server.url, { deadlineMs: Number.POSITIVE_INFINITY }), 1)).toEqual(answerTo([1]))
  })

  test('of many calls is separate for each, in whatever order they were made', async () => {
    const server = await serve(silent)
    const time = holdTime()
    const client = clientOf(server.url)
    const ended: number[] = []
    const deadlines = [90, 30, 150, 60, 120, 75]
    const all = deadlines.map((deadlineMs) => errorOf(read(client.with({ deadlineMs }), deadlineMs)).then(() => ended.push(deadlineMs)))
    await time.pass(150)
    await Promise.all(all)
    expect(ended).toEqual(deadlines.toSorted((a, b) => a - b))
  })
})

describe('timeoutMs', () => {
  test('covers the headers', async () => {
    const server = await serve(silent)
    const time = holdTime()
    const failure = errorOf(read(clientOf(server.url, { timeoutMs: 50, retry: false }), 1))
    await server.received(1)
    await time.pass(50)
    const error = await failure
    expect(error).toMatchObject({ name: 'TimeoutError', kind: 'timeout', unsent: false })
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+: no reply within 50 ms$/)
  })

  test('covers a body that stalls, and one that trickles', async () => {
    const stalls: Answer = async (request, response) => {
      response.write('{"jsonrpc":')
      await request.hungUp
    }
    const trickles: Answer = async (request, response) => {
      response.write('{"jsonrpc":')
      const timer = setInterval(() => response.write(' '), 5)
      await request.hungUp
      clearInterval(timer)
    }
    const time = holdTime()
    for (const [answer, bytes] of [
      [stalls, 11],
      [trickles, 15],
    ] as const) {
      const server = await serve(answer)
      const arrived = bodyBytes(bytes)
      const failure = errorOf(read(clientOf(server.url, { timeoutMs: 100, retry: false }), 1))
      await arrived
      await time.pass(100)
      const error = await failure
      expect(error.message).toMatch(/: the reply was still incomplete \(\d+ bytes\) within 100 ms$/)
      await server.requests[0]?.hungUp
    }
  })

  test('does not include waiting in line', async () => {
    steadyTime()
    const slow: Answer = (request, response) => new Promise((resolve) => setTimeout(resolve, 40)).then(() => honest(request, response))
    const server = await serve(slow)
    const client = clientOf(server.url, { timeoutMs: 400, concurrency: 1, batch: false, retry: false })
    expect(await Promise.all(Array.from({ length: 15 }, (_, i) => read(client, i)))).toHaveLength(15)
  })
})

describe('ten thousand calls', () => {
  const warnings: string[] = []
  const onWarning = (warning: Error) => void warnings.push(warning.name)
  beforeEach(() => {
    warnings.length = 0
    process.on('warning', onWarning)
  })
  afterEach(() => void process.off('warning', onWarning))

  test('with one signal share one listener', async () => {
    const server = await serve(honest)
    const { signal } = new AbortController()
    const listens = vi.spyOn(signal, 'addEventListener')
    const stops = vi.spyOn(signal, 'removeEventListener')
    const client = clientOf(server.url).with({ signal })
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => read(client, i)))
    await turn()
    expect(warnings).toEqual([])
    expect(listens).toHaveBeenCalledTimes(1)
    expect(stops).toHaveBeenCalledTimes(1)
  })

  test('with two signals each cause no warning', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url).with({ signal: new AbortController().signal })
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => client.request({ method: 'eth_getBalance', params: [i] }, { signal })))
    await turn()
    expect(warnings).toEqual([])
  })

  test('are aborted together', async () => {
    const server = await serve(silent)
    const aborter = new AbortController()
    const client = clientOf(server.url).with({ signal: aborter.signal })
    const calls = Promise.all(Array.from({ length: 10_000 }, (_, i) => errorOf(read(client, i))))
    await server.received(8)
    const reason = new Error('enough')
    aborter.abort(reason)
    expect(new Set(await calls)).toEqual(new Set([reason]))
    await Promise.all(server.requests.map(({ hungUp }) => hungUp))
    expect(server.requests).toHaveLength(8)
  })
})

describe('a process with nothing left to do exits on its own', () => {
  /** In ms. Longer than any test. */
  const LONG = 2_000_000_000

  type Respond = (entries: readonly Entry[], response: http.ServerResponse) => void

  /**
   * A node for `calling-process.ts`: the answer to each POST, the last one for all that follow. It
   * answers GET once it has received a POST.
   */
  async function node(...responds: Respond[]) {
    const waiting: http.ServerResponse[] = []
    let taken = 0
    const server = http.createServer(async (request, response) => {
      if (request.method === 'GET') {
        if (taken > 0) response.end()
        else waiting.push(response)
        return
      }
      let text = ''
      for await (const chunk of request.setEncoding('utf8')) text += chunk
      const respond = responds[Math.min(taken++, responds.length - 1)] as Respond
      respond([JSON.parse(text)].flat(), response)
      for (const each of waiting.splice(0)) each.end()
    })
    // Longer than the test, so that the server closes no socket that is left open.
    server.keepAliveTimeout = LONG
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const rightly: Respond = (entries, response) => void response.end(JSON.stringify(entries.map(right)))
  const never: Respond = () => {}
  const later =
    (status: number, code: number, seconds: number): Respond =>
    (entries, response) => {
      response.writeHead(status, { 'retry-after': `${seconds}` })
      response.end(JSON.stringify(entries.map((entry) => failed(entry, code, 'later'))))
    }

  test.each<[string, Respond[]]>([
    ['aborted in back-off', [later(500, -32603, LONG / 2000), rightly]],
    ['closed during a pause', [later(429, 429, LONG / 2000)]],
    ...nightly<[string, Respond[]]>(
      ['answered', [rightly]],
      ['aborted in flight', [never]],
      ['answered and closed', [rightly]],
      ['answered after a pause', [later(429, 429, 0.5), rightly]],
      ['aborted before sending', [never]],
      ['aborted during a pause', [later(429, 429, LONG / 2000)]],
      ['closed in flight', [never]],
      ['closed in back-off', [later(500, -32603, LONG / 2000), rightly]],
    ),
  ])('when its calls were %s', async (what, responds) => {
    const url = await node(...responds)
    const script = fileURLToPath(new URL('../support/calling-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script, url, what], { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    // Deadlines, waits and pauses that it leaves behind outlast the test.
    const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
    expect(output).toBe('done\n')
    expect(code).toBe(0)
  })
})
