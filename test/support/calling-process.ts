/*
 * A program that uses hexline and then has nothing more to do. Anything that its calls leave behind
 * (a timer, a socket) keeps the process alive, which the test that started it detects. Arguments:
 * the node's URL, and what to do.
 */
import { type Client, createClient } from '../../src/index.ts'

const [url = '', what = ''] = process.argv.slice(2)
/** Longer than any test: what is left behind never ends by itself. */
const LONG = 2_000_000_000
const client = createClient(url, { concurrency: 1, timeoutMs: LONG, deadlineMs: LONG, retry: { attempts: 3, baseDelayMs: LONG / 2, maxDelayMs: LONG / 2 } })

function read(from: Client, ...params: unknown[]): Promise<unknown> {
  return from.request({ method: 'eth_getBalance', params })
}

/** The server has received a POST; it answers a GET only then. */
const isTaken = () => fetch(url).then((response) => response.text())
/** The calls of this turn are in the queue or in flight. */
const isInLine = async () => {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve))
}
/**
 * With one POST at a time, an answer to this call means that those before it have failed and wait
 * for their next attempt.
 */
const isFailed = () => isInLine().then(() => read(client, 'passes'))
const isNow = async () => {}

/** Makes a few calls and ends them at that time, with their own signal or by closing the client. */
async function end(how: 'abort' | 'close', isTime: () => Promise<unknown>): Promise<void> {
  const aborter = new AbortController()
  const calls = Promise.allSettled([0, 1, 2].map((i) => read(client.with({ signal: aborter.signal }), i)))
  await isTime()
  if (how === 'abort') aborter.abort(new Error('enough'))
  else await client.close()
  if ((await calls).some(({ status }) => status === 'fulfilled')) throw new Error('a call that was ended has an answer')
}

/** A refused call, which pauses its endpoint. */
const pause = () => read(client.with({ attempts: 1 }), 'refused').catch(() => {})

const programs: Record<string, () => Promise<unknown>> = {
  answered: () => Promise.all(Array.from({ length: 300 }, (_, i) => read(client, i))),
  'answered and closed': () => Promise.all(Array.from({ length: 300 }, (_, i) => read(client, i))).then(() => client.close()),
  // Only the pause keeps the process alive: without a deadline there is no other timer.
  'answered after a pause': () => pause().then(() => read(client.with({ deadlineMs: Number.POSITIVE_INFINITY }), 0)),
  'aborted before sending': () => end('abort', isNow),
  'aborted in flight': () => end('abort', isTaken),
  'aborted in back-off': () => end('abort', isFailed),
  'aborted during a pause': () => pause().then(() => end('abort', isInLine)),
  'closed in flight': () => end('close', isTaken),
  'closed in back-off': () => end('close', isFailed),
  'closed during a pause': () => pause().then(() => end('close', isInLine)),
}

await programs[what]?.()
console.log('done')
