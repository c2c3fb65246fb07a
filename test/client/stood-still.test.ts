import { once } from 'node:events'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { CallSettings, Endpoint, Post } from '../../src/index.ts'
import { replyOf } from '../../src/index.ts'
import { holdTime } from '../support/held-time.ts'
import { clientOf, errorOf } from '../support/server.ts'

/** A node in a thread of its own: it says when it is asked, and answers when it is told to. */
const OTHER_THREAD = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { gzipSync } = require('node:zlib')
  const told = (answer) => {
    parentPort.once('message', () => answer(() => {
      Atomics.store(workerData, 0, 1)
      Atomics.notify(workerData, 0)
    }))
    parentPort.postMessage('received')
  }
  const server = require('node:http').createServer(async (request, response) => {
    const { id } = JSON.parse(Buffer.concat(await request.toArray()))
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: '0x7' })
    if (request.url !== '/gzip') return told((done) => response.end(body, done))
    told((done) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body + ' '.repeat(200_000)), done))
  })
  server.on('upgrade', (_, socket) => told((done) => socket.end('HTTP/1.1 401 No\\r\\ncontent-length: 0\\r\\n\\r\\n', done)))
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

/** Makes a call, lets the process stand still until the answer is in the socket, and 40 s pass. */
async function answered(endpointAt: (port: number) => Endpoint, settings: CallSettings = {}): Promise<unknown> {
  const isAnswered = new Int32Array(new SharedArrayBuffer(4))
  const node = new Worker(OTHER_THREAD, { eval: true, workerData: isAnswered })
  onTestFinished(async () => void (await node.terminate()))
  const [port] = await once(node, 'message')
  holdTime()
  const client = clientOf(endpointAt(port), { retry: false })
  const received = once(node, 'message')
  const result = client.with(settings).request({ method: 'eth_sendTransaction', params: [{}] })
  result.catch(() => {})
  await received
  // What follows runs where timers do: before the next look at the sockets.
  await promisify(setImmediate)()
  node.postMessage('answer')
  Atomics.wait(isAnswered, 0, 0)
  vi.advanceTimersByTime(40_000)
  return result
}

/** As a user would write one. */
const postTo =
  (port: number): Post =>
  async (calls) => {
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify({ id: 1, method: calls[0]?.method }) })
    const { result } = (await response.json()) as { readonly result: unknown }
    return [replyOf(result)]
  }

test.each<[string, (port: number) => Endpoint, CallSettings?]>([
  ['of the endpoint', (port) => `http://127.0.0.1:${port}`],
  ['of the endpoint, with a large result that is compressed', (port) => `http://127.0.0.1:${port}/gzip`],
  ['of a post function', postTo],
  ['of the call', (port) => `http://127.0.0.1:${port}`, { timeoutMs: 5000 }],
  ['of the call and all its attempts', (port) => `http://127.0.0.1:${port}`, { deadlineMs: 5000 }],
])('a reply that came while this process stood still is read, though the time %s is up', async (_, endpointAt, settings) => {
  expect(await answered(endpointAt, settings)).toBe('0x7')
})

test('so is a refusal of a WebSocket', async () => {
  expect(await errorOf(answered((port) => `ws://127.0.0.1:${port}`))).toMatchObject({ name: 'HttpError', status: 401 })
})
