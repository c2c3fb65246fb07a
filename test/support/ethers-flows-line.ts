import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'

/** A line to a node, of which the test rules what comes through. */
export interface Line {
  readonly url: string
  /** Connections of the client that are open now. */
  readonly open: number
  /** Ends every connection, and refuses new ones. */
  cut(): Promise<void>
  /** Takes connections again, on the same port. */
  restore(): Promise<void>
  /** From now on the node's answers do not come through. */
  hold(): void
  /** Resolves as soon as the client has sent something more. */
  sent(): Promise<void>
}

/** A TCP forward to the node. It ends with the test. */
export async function lineTo(url: string): Promise<Line> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const awaited: (() => void)[] = []
  let isHeld = false

  const server = net.createServer((client) => {
    const node = net.connect(Number(port), hostname)
    sockets.add(client)
    for (const [one, other] of [
      [client, node],
      [node, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    client.on('close', () => sockets.delete(client))
    client.on('data', (chunk) => {
      node.write(chunk)
      for (const resolve of awaited.splice(0)) resolve()
    })
    node.on('data', (chunk) => isHeld || client.write(chunk))
  })
  const listen = (on: number) => new Promise<void>((resolve) => server.listen(on, '127.0.0.1', resolve))
  await listen(0)
  const own = (server.address() as AddressInfo).port

  const line: Line = {
    url: `http://127.0.0.1:${own}`,
    get open() {
      return sockets.size
    },
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
    restore: () => listen(own),
    hold() {
      isHeld = true
    },
    sent: () => new Promise((resolve) => awaited.push(resolve)),
  }
  onTestFinished(() => line.cut())
  return line
}

/** Notes what should not be: lines on the console, and rejections that nobody handles. Gives the function that asserts that there were none. */
export function watchQuiet(): () => Promise<void> {
  const noise: unknown[] = []
  const note = (reason: unknown) => noise.push(reason)
  process.on('unhandledRejection', note)
  const spies = (['log', 'info', 'warn', 'error', 'debug', 'trace'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...line) => void note(line)),
  )
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    for (const spy of spies) spy.mockRestore()
  })
  return async () => {
    // Node.js tells of rejections once a turn is over, and what ends may begin something in its last turn.
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(noise).toEqual([])
  }
}
