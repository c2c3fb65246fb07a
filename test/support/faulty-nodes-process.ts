/*
 * Three nodes of one chain with all faults of real nodes, in their own process. The fault of a POST
 * follows from a seed and its number alone. For each call the nodes record how many times it
 * arrived and was not refused, and its faults. Arguments: the seed.
 */
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { blockOf, type Fault, faults, HEAD, hashOf, numberOf, resultOf, type Seen } from './faulty-calls.ts'
import { randomFrom } from './random.ts'

/** Frequency of each fault, in percent of the POSTs. */
const parts: readonly (readonly [Fault, number])[] = [
  ['throttled', 7.5],
  ['throttled in part', 1],
  ['bad gateway', 3],
  ['cut', 3],
  ['cut in the middle', 2],
  ['truncated', 3],
  ['stalled', 0.3],
  ['reply left out', 3],
  ['reordered', 4.9],
  ['said twice', 2.3],
]
/** Each node dies after this many POSTs, and returns after this many ms. */
const DIES_AFTER = 400
const DEAD_MS = 600

interface Entry {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const seed = Number(process.argv[2])
const calls = new Map<number, [number, number, number, number, number, number]>()
const runs = new Map<number, number>()
const known = new Set<unknown>()
const faulty: Partial<Record<Fault, number>> = {}
let posts = 0

/** The fault of the nth POST to a node, and the random numbers for it. */
function decide(node: number, n: number): { fault: Fault | undefined; random: () => number } {
  const random = randomFrom(seed ^ Math.imul(node + 1, 0x9e3779b1) ^ Math.imul(n, 0x85ebca6b))
  let at = random() * 100
  for (const [fault, part] of parts) {
    at -= part
    if (at < 0) return { fault, random }
  }
  return { fault: undefined, random }
}

function note({ method, params }: Entry, length: number, fault: Fault | undefined, isTurnedAway = false): void {
  const number = numberOf(method, params)
  if (number === undefined) return
  const record = calls.get(number) ?? [number, 0, 0, 0, 0, 0]
  record[2]++
  if (!isTurnedAway) {
    record[1]++
    if (length < record[4]) record[5]++
    record[4] = length
  }
  if (fault !== undefined) record[3] |= 1 << faults.indexOf(fault)
  calls.set(number, record)
}

/** Runs a call and returns the reply object. A call whose reply is lost has still run. */
function run({ id, method, params }: Entry, head: number): object {
  const failed = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
  const answer = (result: unknown) => ({ jsonrpc: '2.0', id, result })
  if (method === 'eth_chainId') return answer('0x1')
  if (method === 'eth_blockNumber') return answer(`0x${head.toString(16)}`)
  if (method === 'eth_getTransactionByHash') return answer(known.has(params[0]) ? { hash: params[0] } : null)
  if (blockOf(method, params) > head) return method === 'eth_getBlockByNumber' ? answer(null) : failed(-32000, 'header not found')
  if (method === 'eth_sendRawTransaction') {
    const hash = hashOf(String(params[0]))
    if (hash !== undefined && known.has(hash)) return failed(-32000, 'already known')
    known.add(hash)
    const number = numberOf(method, params) as number
    runs.set(number, (runs.get(number) ?? 0) + 1)
  }
  return answer(resultOf(method, params))
}

async function startNode(node: number): Promise<number> {
  const sockets = new Set<Socket>()
  let count = 0
  let port = 0

  const server = http.createServer(async (request, response) => {
    let text = ''
    try {
      for await (const chunk of request.setEncoding('utf8')) text += chunk
    } catch {
      return
    }
    const body = JSON.parse(text) as Entry | Entry[]
    const entries = Array.isArray(body) ? body : [body]
    const n = count++
    posts++
    const { fault, random } = decide(node, n)
    if (fault !== undefined) faulty[fault] = (faulty[fault] ?? 0) + 1
    if (n % DIES_AFTER === DIES_AFTER - 1 - 100 * node) die()

    if (fault === 'throttled') {
      for (const entry of entries) note(entry, entries.length, fault, true)
      response.writeHead(429, random() < 0.3 ? { 'retry-after': '0.02' } : {})
      response.end('too many requests')
      return
    }
    // The third node lags by a varying number of blocks.
    const head = node === 2 ? HEAD - ((n >> 6) % 5) : HEAD
    const replies = entries.map((entry) => {
      if (fault === 'throttled in part' && random() < 0.5) {
        note(entry, entries.length, fault, true)
        return { jsonrpc: '2.0', id: entry.id, error: { code: -32005, message: 'rate limit exceeded' } }
      }
      note(entry, entries.length, fault)
      if (blockOf(entry.method, entry.params) > head) {
        faulty.lagging = (faulty.lagging ?? 0) + 1
        const record = calls.get(numberOf(entry.method, entry.params) as number)
        if (record !== undefined) record[3] |= 1 << faults.indexOf('lagging')
      }
      return run(entry, head)
    })
    if (fault === 'cut') return void request.socket.destroy()
    if (fault === 'stalled') return
    if (fault === 'bad gateway') {
      response.writeHead(502, { 'content-type': 'text/html' })
      response.end('<h1>502 Bad Gateway</h1>')
      return
    }
    if (fault === 'reply left out') replies.splice(Math.floor(random() * replies.length), 1)
    if (fault === 'reordered') replies.sort(() => random() - 0.5)
    if (fault === 'said twice') replies.push(replies[Math.floor(random() * replies.length)] as object)
    const answer = JSON.stringify(Array.isArray(body) || replies.length !== 1 ? replies : replies[0])
    const part = answer.slice(0, 1 + Math.floor(random() * (answer.length - 1)))
    response.writeHead(200, { 'content-type': 'application/json' })
    if (fault === 'cut in the middle') response.write(part, () => request.socket.destroy())
    else response.end(fault === 'truncated' ? part : answer)
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })

  function die(): void {
    faulty.dead = (faulty.dead ?? 0) + 1
    server.close()
    // The POST at which it dies gets its own fault first.
    setImmediate(() => {
      for (const socket of sockets) socket.resetAndDestroy()
    })
    setTimeout(() => server.listen(port, '127.0.0.1'), DEAD_MS)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  return port
}

const ports = await Promise.all([0, 1, 2].map(startNode))
process.on('message', () => {
  const seen: Seen = { calls: [...calls.values()], runs: [...runs], posts, faulty }
  process.send?.(seen)
})
process.on('disconnect', () => process.exit())
process.send?.(ports)
