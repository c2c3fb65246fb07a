import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo, type Server, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Dispatcher, Pool } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readIntoOneBuffer } from '../../src/http/receiving.ts'
import { randomFrom } from '../support/random.ts'
import { clientOf, each, serve } from '../support/server.ts'
import { cert, key } from '../support/tls.ts'

/**
 * Sends bodies of all sizes in pieces of 1 to 70,000 bytes; their length and digest are in the
 * headers, after up to 12 kB of others.
 */
async function serveBodies(seed: number, isSecure: boolean) {
  const random = randomFrom(seed)
  const upTo = (most: number) => 1 + Math.floor(random() * most)
  const answer: http.RequestListener = async (_, response) => {
    const body = Buffer.alloc(upTo(random() < 0.3 ? 500 : 300_000), `${random()}`)
    const [piece, padding] = [random() < 0.2 ? upTo(20) * 50 : upTo(70_000), 'h'.repeat(upTo(12_000))]
    const isCounted = random() < 0.5
    response.writeHead(200, { padding, digest: digestOf(body), ...(isCounted && { 'content-length': body.length }) })
    for (let at = 0; at < body.length; at += piece) {
      response.write(body.subarray(at, at + piece))
      if (random() < 0.3) await setImmediate()
    }
    response.end()
  }
  return poolOf(isSecure ? https.createServer({ key, cert }, answer) : http.createServer(answer), isSecure)
}

/** Node.js gives up on an address after 250 ms, in which a busy machine may do nothing. */
const NEVER_MS = 2 ** 31 - 1

async function poolOf(server: Server, isSecure: boolean): Promise<Pool> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const pool = new Pool(`${isSecure ? 'https' : 'http'}://localhost:${(server.address() as AddressInfo).port}`, {
    connections: 4,
    connect: { ...readIntoOneBuffer, ca: cert, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: NEVER_MS },
  })
  onTestFinished(() => pool.destroy())
  return pool
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The bytes sent, and those that had arrived when `pause` was called for each chunk. */
function get(pool: Pool, pause: (controller: Dispatcher.DispatchController) => void): Promise<{ sent: unknown; came: string; padding: unknown }> {
  return new Promise((resolve, reject) => {
    const body: Buffer[] = []
    let headers: Record<string, string | string[] | undefined> = {}
    pool.dispatch(
      { path: '/', method: 'GET' },
      {
        onRequestStart() {},
        onResponseStart(_, __, received) {
          headers = received
        },
        onResponseData(controller, chunk) {
          body.push(Buffer.from(chunk))
          pause(controller)
        },
        onResponseEnd() {
          resolve({ sent: headers.digest, came: digestOf(Buffer.concat(body)), padding: headers.padding })
        },
        onResponseError(_, error) {
          reject(error)
        },
      },
    )
  })
}

describe('sockets that read into one buffer', () => {
  const never = () => {}
  const random = randomFrom(3)
  const often = (controller: Dispatcher.DispatchController) => {
    if (random() < 0.9) return
    controller.pause()
    void setTimeout(5 * random()).then(() => controller.resume())
  }

  test.each([
    ['http', false, 'at once', never],
    ['https', true, 'at once', never],
    ['http', false, 'with pauses', often],
    ['https', true, 'with pauses', often],
  ])('give every body as it was sent: %s, secure %s, read %s', async (_, isSecure, __, pause) => {
    const pools = await Promise.all([1, 2, 3].map((seed) => serveBodies(seed, isSecure)))
    const replies = await Promise.all(Array.from({ length: 120 }, (_, i) => get(pools[i % 3] as Pool, pause)))
    expect(replies.filter(({ sent, came }) => sent !== came)).toEqual([])
    expect(replies.filter(({ padding }) => !/^h+$/.test(padding as string))).toEqual([])
  })

  test('keep the start of headers whose rest arrives later', async () => {
    const seen: Socket[] = []
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const server = net.createServer((socket) => {
      socket.on('error', () => {})
      seen.push(socket)
      // Only the first one waits for its headers; in the meantime the others read into the same
      // buffer.
      if (seen.length > 1) return void socket.end(`HTTP/1.1 200 OK\r\ndigest: 0\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`)
      socket.write(`HTTP/1.1 200 OK\r\ndigest: 0\r\npadding: ${'h'.repeat(9_000)}`, () => begun())
    })
    const pool = await poolOf(server, false)
    const first = get(pool, never)
    await hasBegun
    for (let i = 0; i < 5; i++) {
      await setImmediate()
      await get(pool, never)
    }
    seen[0]?.end(`${'h'.repeat(1_000)}\r\ncontent-length: 0\r\n\r\n`)
    expect((await first).padding === 'h'.repeat(10_000)).toBe(true)
  })

  test('give the bodies of others as they were sent while some are reset or half-closed', async () => {
    // In turn: a body up to the end of the connection; one that is reset; one that ends too soon.
    let served = 0
    const body = Buffer.alloc(300_000, 'the end of the connection ends it')
    const endings = await poolOf(
      net.createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => {})
        socket.once('data', () => {
          const how = served++ % 3
          socket.write(`HTTP/1.1 200 OK\r\ndigest: ${digestOf(body)}\r\n${how === 0 ? 'connection: close' : `content-length: ${body.length + 1}`}\r\n\r\n`)
          socket.write(body, () => (how === 1 ? socket.resetAndDestroy() : socket.end()))
        })
      }),
      false,
    )
    const others = await Promise.all([serveBodies(4, false), serveBodies(5, true)])
    // Without pauses: undici's own assertion fails where a connection ends during one.
    const ended = Array.from({ length: 30 }, () => get(endings, never).catch(() => undefined))
    const replies = await Promise.all(Array.from({ length: 80 }, (_, i) => get(others[i % 2] as Pool, often)))
    expect(replies.filter(({ sent, came }) => sent !== came)).toEqual([])
    const whole = (await Promise.all(ended)).filter((reply) => reply !== undefined)
    expect(whole.map(({ came }) => came)).toEqual(Array(10).fill(digestOf(body)))
  })

  test('keep long ones, too, in a process that accepts them', async () => {
    const script = fileURLToPath(new URL('../support/long-headers-process.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, ['--max-http-header-size=131072', '--import', 'tsx', script])
    expect(stdout).toMatch(/^h\.*$/)
  })

  test('give the callers of several clients their own results', async () => {
    const textOf = (n: unknown) => `0x${String(n).padStart(4, '0').repeat(20_000)}`
    const servers = await Promise.all([1, 2].map(() => serve(each(({ id, params: [n] }) => ({ jsonrpc: '2.0', id, result: textOf(n) })))))
    const clients = servers.map(({ url }) => clientOf(url))
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => clients[i % 2]?.request({ method: 'test_get' as never, params: [i] as never }) as Promise<unknown>),
    )
    expect(results.map((result, i) => result === textOf(i))).not.toContain(false)
  })
})
