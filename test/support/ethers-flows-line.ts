import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'

/** A connection to a node that the test controls. */
export interface Line {
  readonly url: string
  /** Number of the client's open connections. */
  readonly open: number
  /**
   * Ends every connection, and refuses new ones. What the node has been asked it answers first,
   * unless its answers are held back: it reports each change once, and what it had reported into a
   * broken connection would be lost for good.
   */
  cut(): Promise<void>
  /** Accepts connections again, on the same port. */
  restore(): Promise<void>
  /** Holds the node's answers back from now on. */
  hold(): void
  /** Resolves when the client has sent more. */
  sent(): Promise<void>
}

/** A TCP proxy to the node. It is closed when the test ends. */
export async function lineTo(url: string): Promise<Line> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  /** Connections on which the node has yet to answer. */
  const asked = new Set<Socket>()
  const awaited: (() => void)[] = []
  let isHeld = false
  let isCut = false
  const endWhenAnswered = (client: Socket) => (isHeld || !asked.has(client) ? client.destroy() : undefined)

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
    client.on('close', () => {
      sockets.delete(client)
      asked.delete(client)
    })
    client.on('data', (chunk) => {
      if (isCut) return
      asked.add(client)
      node.write(chunk)
      for (const resolve of awaited.splice(0)) resolve()
    })
    node.on('data', (chunk) => {
      if (isHeld) return
      asked.delete(client)
      if (isCut) client.end(chunk)
      else client.write(chunk)
    })
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
        isCut = true
        server.close(() => resolve())
        for (const socket of sockets) endWhenAnswered(socket)
      }),
    restore() {
      isCut = false
      return listen(own)
    },
    hold() {
      isHeld = true
    },
    sent: () => new Promise((resolve) => awaited.push(resolve)),
  }
  onTestFinished(() => line.cut())
  return line
}

/**
 * Records output on the console and unhandled rejections. Returns a function that asserts that
 * there were none.
 */
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
    // Node.js reports rejections after a turn of the event loop, and the last turn of a call may
    // start something new.
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(noise).toEqual([])
  }
}
