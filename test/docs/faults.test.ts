import { readFileSync } from 'node:fs'
import { hexline } from 'hexline/viem'
import { createPublicClient, fallback, http, type Transport } from 'viem'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/wait/clock.ts'
import { startAnvil } from '../support/anvil.ts'
import { cutAfter, forward } from '../support/forward.ts'
import { steadyTime } from '../support/held-time.ts'
import { limiter } from '../support/limited-server.ts'
import { node } from '../support/node.ts'
import { type Answer, answerTo, honest, refuse, right, send, serve, silent } from '../support/server.ts'
import { account, clientOver, closing } from '../support/viem-clients.ts'

/*
 * The measurements of the table of docs/faults.md, and of that in the README: each row is a test of
 * its name. Settings are the defaults of viem 2.57.1 and hexline unless a test says otherwise.
 */

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const table = read('docs/faults.md').split('<!-- measured -->')[1] as string
const names: string[] = []

/** A row of the table. */
function row(name: string, measure: () => Promise<void>): void {
  names.push(name)
  it(name, measure)
}

const ours = (...urls: string[]) => closing(hexline(urls))

/**
 * Makes reads in one turn of the event loop, and counts the calls that get their own answer,
 * another call's, and none.
 */
async function outcomes(transport: Transport, calls: number) {
  const client = createPublicClient({ transport })
  const counts = { own: 0, anothers: 0, failed: 0, errors: [] as string[] }
  const params = Array.from({ length: calls }, (_, i) => [`0x${i.toString(16).padStart(40, '0')}`, 'latest'] as const)
  const settled = await Promise.allSettled(params.map((each) => client.request({ method: 'eth_getBalance', params: each as never })))
  settled.forEach((outcome, i) => {
    if (outcome.status === 'rejected') {
      counts.failed++
      counts.errors.push(String(outcome.reason))
    } else if (JSON.stringify(outcome.value) === JSON.stringify(answerTo(params[i] as never))) counts.own++
    else counts.anothers++
  })
  return counts
}

describe('docs/faults.md', () => {
  row('One reply of a batch of 3 is missing', async () => {
    const withoutSecond: Answer = ({ entries, isBatch }, response) => {
      const [first, ...others] = entries.map(right)
      send(response, JSON.stringify(isBatch ? [first, ...others.slice(1)] : first))
    }
    const { url } = await serve(withoutSecond)
    expect(await outcomes(http(url, { batch: true }), 3)).toMatchObject({ own: 2, anothers: 1 })
    expect(await outcomes(ours(url), 3)).toMatchObject({ own: 3 })
  })

  row('A batch of 50 is more than the node takes', async () => {
    const says = { code: -32600, message: 'batch limit 20 exceeded' }
    const atMost20: Answer = ({ entries, isBatch }, response) => {
      const replies = entries.map(right)
      send(response, JSON.stringify(replies.length > 20 ? { jsonrpc: '2.0', id: null, error: says } : isBatch ? replies : replies[0]))
    }
    const { url } = await serve(atMost20)
    const { failed, errors } = await outcomes(http(url, { batch: true, retryCount: 0 }), 50)
    expect(failed).toBe(50)
    expect(errors.join()).toContain('Cannot read properties of undefined')
    expect(errors.join()).not.toContain(says.message)
    expect(await outcomes(ours(url), 50)).toMatchObject({ own: 50 })
  })

  row('429 and `Retry-After: 3` beside a JSON-RPC error', async () => {
    const throttling = refuse(-32005, 'slow down', { status: 429, headers: { 'retry-after': '3' } })
    const server = await serve(throttling)
    expect(await outcomes(http(server.url), 1)).toMatchObject({ failed: 1 })
    expect(server.requests).toHaveLength(4)
    const other = await serve(throttling, honest)
    expect(await outcomes(ours(other.url), 1)).toMatchObject({ own: 1 })
    expect(other.requests).toHaveLength(2)
    expect((other.requests[1]?.at ?? 0) - (other.requests[0]?.at ?? 0)).toBeGreaterThanOrEqual(2999)
  })

  row('200 calls at once, of which the node takes 20 a second', async () => {
    const limit = { perSecond: 20, burst: 20, refuses: 'entries', latencyMs: 5 } as const
    const [theirs, mine] = [await serve(limiter(systemClock, limit).answer), await serve(limiter(systemClock, limit).answer)]
    const [ofHttp, ofHexline] = await Promise.all([outcomes(http(theirs.url, { batch: true }), 200), outcomes(ours(mine.url), 200)])
    expect(ofHttp.failed).toBeGreaterThan(0)
    expect(ofHexline).toMatchObject({ own: 200 })
  })

  row('A reply stops in the middle', async () => {
    steadyTime()
    const stalled: Answer = async ({ hungUp }, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"jsonrpc":"2.0",')
      await hungUp
    }
    const [theirs, mine] = [await serve(stalled), await serve(honest, stalled, honest)]
    let ended = false
    const config = { timeout: 1000, retryCount: 0 }
    outcomes(http(theirs.url, config), 1).finally(() => {
      ended = true
    })
    await theirs.received(1)
    // A call without any reply ends at its timeout.
    expect(await outcomes(http((await serve(silent)).url, config), 1)).toMatchObject({ failed: 1 })
    expect(ended).toBe(false)
    expect(theirs.requests).toHaveLength(1)

    const transport = ours(mine.url)
    expect(await outcomes(transport, 1)).toMatchObject({ own: 1 })
    expect(await outcomes(transport, 1)).toMatchObject({ own: 1 })
    expect(mine.requests).toHaveLength(3)
  })

  row('The first of two nodes goes silent', async () => {
    steadyTime()
    const askThrice = async (transport: Transport) => {
      for (let i = 0; i < 3; i++) expect(await outcomes(transport, 1)).toMatchObject({ own: 1 })
    }
    const [dead, alive] = [await serve(silent), await serve(node())]
    await askThrice(fallback([http(dead.url, { timeout: 250 }), http(alive.url)]))
    expect(dead.requests).toHaveLength(3)
    const calls = () => dead.requests.flatMap(({ entries }) => entries).filter(({ method }) => method === 'eth_getBalance').length
    const before = calls()
    await askThrice(ours(dead.url, alive.url))
    expect(calls() - before).toBeLessThanOrEqual(1)
  })

  row('A transaction is mined, and the reply to it is lost', async () => {
    const anvil = await startAnvil()
    onTestFinished(() => anvil.stop())
    const send = async (make: (url: string) => Transport) => {
      const server = await serve(cutAfter(anvil.url), forward(anvil.url))
      const sender = clientOver(http(anvil.url))
      const prepared = await sender.prepareTransactionRequest({ to: account.address, value: 1n })
      const serializedTransaction = await sender.signTransaction(prepared as never)
      const before = await sender.getTransactionCount(account)
      const outcome = await clientOver(make(server.url)).sendRawTransaction({ serializedTransaction }).catch(String)
      await expect.poll(() => sender.getTransactionCount(account)).toBe(before + 1)
      return outcome
    }
    expect(await send(http)).toMatch(/^HttpRequestError.*fetch failed/s)
    expect(await send(ours)).toMatch(/^0x[0-9a-f]{64}$/)
  })

  row('Two clients of one URL have a key each', async () => {
    const { url, requests } = await serve(honest)
    const keys = ['first', 'second']
    const send = (make: (config: object) => Transport) =>
      Promise.all(keys.map((key) => outcomes(make({ batch: true, fetchOptions: { headers: { authorization: key } } }), 1)))
    const sent = () => requests.map(({ headers, entries }) => `${headers.authorization}: ${entries.length}`).sort()
    await send((config) => http(url, config))
    expect(sent()).toEqual(['first: 2'])
    await send((config) => closing(hexline(url, config)))
    expect(sent()).toEqual(['first: 1', 'first: 2', 'second: 1'])
  })
})

/** The first cells of the rows of a Markdown table, without its header. */
const firstCells = (markdown: string) => [...markdown.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell).slice(1)

it('the page has a row for each, and the README only measured ones', () => {
  expect(firstCells(table)).toEqual(names)
  const shown = firstCells(read('README.md').split('<!-- measured -->')[1] as string)
  expect(shown.length).toBeGreaterThan(4)
  expect(names).toEqual(expect.arrayContaining(shown))
})
