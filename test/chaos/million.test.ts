import { spawn } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const CALLS = 1_000_000

interface Held {
  readonly done: number
  readonly heapUsed: number
  readonly sockets: number
  readonly timers: number
}

test('a million calls of one process leave nothing behind: no memory, sockets or timers over the second half', { timeout: 240_000 }, async () => {
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('latin1')) as { id: number } | { id: number }[]
      const reply = ({ id }: { id: number }) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`
      response.setHeader('content-type', 'application/json')
      response.end(Array.isArray(body) ? `[${body.map(reply).join()}]` : reply(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const script = fileURLToPath(new URL('../support/million-process.ts', import.meta.url))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const started = performance.now()
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', script, url, String(CALLS)], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
    server.closeAllConnections()
    server.close()
  })
  let output = ''
  let said = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, said).toBe(0)

  const held = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Held)
  const half = held[4] as Held
  const end = held[9] as Held
  const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
  console.log(
    `${CALLS} calls in ${((performance.now() - started) / 1000).toFixed(1)} s: heap ${mib(half.heapUsed)} MiB at half, ${mib(end.heapUsed)} at the end; ` +
      `sockets ${half.sockets} and ${end.sockets}, timers ${half.timers} and ${end.timers}`,
  )
  expect(end.done).toBe(CALLS)
  // One byte left by each of 500,000 calls would be half of this.
  expect(end.heapUsed - half.heapUsed).toBeLessThan(1024 * 1024)
  // The limit of POSTs in flight; the number actually needed varies.
  for (const { sockets } of held) expect(sockets).toBeLessThanOrEqual(8)
  expect(end.timers).toBeLessThanOrEqual(half.timers)
})
