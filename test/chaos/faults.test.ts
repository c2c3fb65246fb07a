import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, type ErrorKind, HexlineError, type Request, TimeoutError } from '../../src/index.ts'
import { type Fault, faults, hashOf, numberOf, planned, resultOf, type Seen } from '../support/faulty-calls.ts'
import { randomFrom } from '../support/random.ts'

/** Both may be set by the environment, to search for seeds, and in less time. */
const CALLS = Number(process.env.HEXLINE_CHAOS_CALLS ?? 100_000)
const SEED = Number(process.env.HEXLINE_CHAOS_SEED ?? 8)
const AT_A_TIME = 800
const ATTEMPTS = 4
const TIMEOUT_MS = 700
/** How late timers may be on this machine, in ms. */
const LATE_MS = 2_000

/** The outcome of one call. */
interface End {
  readonly number: number
  readonly isBulk: boolean
  readonly error?: unknown
  readonly reason?: unknown
  readonly lateMs: number
  readonly deadlineMs: number | undefined
}

/** The faults that each kind of error may report. */
const causes: Partial<Record<ErrorKind, readonly Fault[]>> = {
  'rate-limit': ['throttled', 'throttled in part'],
  network: ['cut', 'cut in the middle'],
  timeout: ['stalled'],
  malformed: ['truncated', 'reply left out'],
  server: ['bad gateway'],
  lagging: ['lagging'],
}

/**
 * Kinds that a call may end in because of what an endpoint did to others: it throttles or is dead,
 * and the call was not even sent; or it was on the way when the node died.
 */
const ofEndpoint: readonly ErrorKind[] = ['rate-limit', 'network']

async function startNodes(): Promise<{ ports: number[]; nodes: ChildProcess }> {
  const program = fileURLToPath(new URL('../support/faulty-nodes-process.ts', import.meta.url))
  const nodes = fork(program, [String(SEED)], { execArgv: ['--import', 'tsx'] })
  onTestFinished(() => void nodes.kill())
  const [ports] = await once(nodes, 'message')
  return { ports, nodes }
}

test(`${CALLS} calls, three nodes, 30 % faults: each ends in the right answer or a true error`, { timeout: 600_000 }, async () => {
  const { ports, nodes } = await startNodes()
  const endpoints = ports.map((port) => `http://127.0.0.1:${port}`)
  await using client = createClient(endpoints, {
    retry: { attempts: ATTEMPTS, baseDelayMs: 5, maxDelayMs: 100 },
    timeoutMs: TIMEOUT_MS,
    deadlineMs: 60_000,
  })
  const random = randomFrom(SEED)
  const ends: End[] = []
  const wrong: unknown[] = []
  let right = 0
  let started = 0

  /** Makes the next call, and holds its end against what was asked for. */
  const make = async (number: number): Promise<void> => {
    const { method, params, required } = planned(number)
    const isBulk = random() < 0.5
    const dice = random()
    const aborter = dice < 0.02 ? new AbortController() : undefined
    const deadlineMs = dice > 0.98 ? 20 + random() * 300 : undefined
    const reason = new Error(`call ${number} is not wanted any more`)
    let abortedAt = Number.POSITIVE_INFINITY
    const timer = aborter && setTimeout(end, random() * 60)
    function end(): void {
      abortedAt = performance.now()
      aborter?.abort(reason)
    }
    const request: Request = {
      method,
      params,
      required,
      priority: isBulk ? 'bulk' : 'interactive',
      ...(aborter && { signal: aborter.signal }),
      ...(deadlineMs !== undefined && { deadlineMs }),
    }
    const begun = performance.now()
    const lateMs = () => Math.max(0, performance.now() - Math.min(abortedAt, begun + (deadlineMs ?? Number.POSITIVE_INFINITY)))
    try {
      const reply = await client.send(request)
      const result = reply.take()
      if (JSON.stringify(result) === JSON.stringify(resultOf(method, params))) right++
      else wrong.push({ number, method, params, result })
      ends.push({ number, isBulk, deadlineMs, lateMs: lateMs() })
    } catch (error) {
      ends.push({ number, isBulk, error, deadlineMs, lateMs: lateMs(), ...(aborter?.signal.aborted && { reason }) })
    } finally {
      clearTimeout(timer)
    }
  }
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      while (started < CALLS) await make(started++)
    }),
  )
  const seconds = (performance.now() - begun) / 1000

  nodes.send('report')
  const [seen] = (await once(nodes, 'message')) as [Seen]
  const seenOf = new Map(seen.calls.map((record) => [record[0], record]))
  const recordOf = (number: number) => {
    const { method, params } = planned(number)
    return seenOf.get(numberOf(method, params) as number)
  }
  const faultsOf = (number: number) => faults.filter((_, bit) => ((recordOf(number)?.[3] ?? 0) >> bit) & 1)

  // What ended without an answer: for the caller's own reason, in its time, or for something that
  // the nodes did.
  const untrue: unknown[] = []
  const byKind: Record<string, number> = {}
  let slow = 0
  for (const { number, error, reason, deadlineMs } of ends) {
    if (error === undefined) continue
    const kind = error instanceof HexlineError ? error.kind : 'aborted'
    const isOwn = error instanceof HexlineError && causes[error.kind]?.some((fault) => faultsOf(number).includes(fault))
    const isDeadline = error instanceof TimeoutError && deadlineMs !== undefined
    // A busy machine may rarely miss a node's reply on its own.
    const isSlow = !isOwn && !isDeadline && error instanceof TimeoutError && error.attempts > 0
    if (isSlow) slow++
    const isTrue = isOwn || isDeadline || isSlow || (error instanceof HexlineError ? ofEndpoint.includes(error.kind) : reason !== undefined && error === reason)
    const name = isDeadline ? 'deadline' : kind
    byKind[name] = (byKind[name] ?? 0) + 1
    if (!isTrue) untrue.push({ call: planned(number), error, faults: faultsOf(number) })
  }

  // An attempt is a POST in which the call was not turned away; each call has as many as its policy
  // says, a bulk call as many as it needs, what writes only one. A batch that may have been too
  // long is sent again in shorter ones within the same attempt, which the nodes cannot tell from
  // another attempt in a shorter one: neither counts here, and few calls are sent more often.
  const most = { interactive: 0, bulk: 0, unrepeatable: 0 }
  let oftener = 0
  for (const { number, isBulk } of ends) {
    const { method, params } = planned(number)
    const [, arrived = 0, , , , inShorter = 0] = seenOf.get(number) ?? []
    const isUnrepeatable = method === 'eth_sendRawTransaction' && hashOf(String(params[0])) === undefined
    const policy = isUnrepeatable ? 'unrepeatable' : isBulk ? 'bulk' : 'interactive'
    most[policy] = Math.max(most[policy], arrived - (isUnrepeatable ? 0 : inShorter))
    if (policy === 'interactive' && arrived > ATTEMPTS) oftener++
  }
  const attempts = seen.calls.filter(([number]) => number >= 0).map(([, ran]) => ran)
  const mostRuns = Math.max(0, ...seen.runs.map(([, times]) => times))
  const latestMs = ends.reduce((latest, { lateMs }) => Math.max(latest, lateMs), 0)
  const faultyPosts = Object.entries(seen.faulty).reduce((sum, [name, count]) => sum + (name === 'lagging' || name === 'dead' ? 0 : (count as number)), 0)

  const list = (counts: object) =>
    Object.entries(counts)
      .sort((a, b) => b[1] - a[1])
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  console.log(
    [
      `chaos | seed ${SEED}`,
      `calls             ${CALLS}, ended ${ends.length}`,
      `right answers     ${right}, wrong ${wrong.length}`,
      `errors by kind    ${list(byKind) || 'none'}; untrue ${untrue.length}`,
      `POSTs             ${seen.posts}, faulty ${((100 * faultyPosts) / seen.posts).toFixed(1)} %`,
      `attempts per call ${(attempts.reduce((sum, n) => sum + n, 0) / attempts.length).toFixed(2)} in the mean; most: ${list(most)}; interactive calls with more POSTs than attempts ${oftener}`,
      `transactions      ${seen.runs.length} ran, each ${mostRuns} time at most`,
      `faults            ${list(seen.faulty)}`,
      `latest end        ${Math.round(latestMs)} ms after an abort or a deadline`,
      `time              ${seconds.toFixed(1)} s, ${Math.round(CALLS / seconds)} calls per second`,
    ].join('\n  '),
  )
  expect(wrong).toEqual([])
  expect(untrue.slice(0, 5)).toEqual([])
  expect(slow / CALLS).toBeLessThan(0.001)
  expect(ends).toHaveLength(CALLS)
  expect(right / CALLS).toBeGreaterThan(0.9)
  expect(most.interactive).toBeLessThanOrEqual(ATTEMPTS)
  expect(oftener / CALLS).toBeLessThan(0.001)
  expect(most.unrepeatable).toBeLessThanOrEqual(1)
  expect(mostRuns).toBe(1)
  expect(latestMs).toBeLessThan(LATE_MS)
  expect(faultyPosts / seen.posts).toBeGreaterThan(0.25)
  for (const fault of Object.values(causes).flat()) expect(seen.faulty[fault], fault).toBeGreaterThan(0)
})
