import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from '../client/create-client.ts'
import { OptionError } from '../errors.ts'
import { type ChainSlug, chains, nodeUrl } from '../eth/chains.ts'
import { reasonOf } from '../system-error.ts'
import { Alarms } from '../wait/alarms.ts'
import { systemClock } from '../wait/clock.ts'
import { startAnvil } from './anvil.ts'
import { createFaults, createNotificationFaults } from './faults.ts'
import { createForward } from './json-rpc.ts'
import { limitNode } from './node-limits.ts'
import { Notifications } from './notifications.ts'
import { type SandboxOptions, settingsFrom } from './options.ts'
import { createLimit } from './rate.ts'
import type { Seed } from './records.ts'
import { withReorganisations } from './reorganise.ts'
import { checkRpcPath, serviceHandler } from './routes.ts'
import { createServer } from './server.ts'
import { serveWebSockets } from './web-socket.ts'

/** The whole service, running on this machine. */
export interface Sandbox {
  /** Where it listens: `http://127.0.0.1:PORT`. The four base URLs are the same. */
  readonly url: string
  /** Base of the JSON-RPC group: `{rpcUrl}/:chain/:apiKey`. */
  readonly rpcUrl: string
  /** Base of the data group. */
  readonly dataUrl: string
  /** Base of the NFT group. */
  readonly nftUrl: string
  /** Base of the streams group. */
  readonly streamsUrl: string
  /** The valid key. */
  readonly apiKey: string
  /** Keys that are out of quota. */
  readonly quotaKeys: readonly string[]
  /** The chain that is served. */
  readonly chain: ChainSlug
  /**
   * The chain id of the upstream node. It differs from the id of `chain` where `upstream` is a node
   * of another chain.
   */
  readonly chainId: number
  /** For the helpers of `hexline/rest`. */
  readonly service: { readonly dataUrl: string; readonly nftUrl: string; readonly streamsUrl: string; readonly apiKey: string }
  /**
   * URL of the upstream node, for instance for the `anvil_` methods that a test calls. It is the
   * URL that was given, including any key.
   */
  readonly upstream: string
  /**
   * The records of the NFT and streams groups. The arrays may be changed while it runs, with effect
   * from the next request.
   */
  readonly seed: Seed
  /** A URL for any JSON-RPC client, by chain and key. */
  nodeUrl(): string
  /**
   * Ends every connection, frees the port, and stops the anvil that was started. May be called
   * again.
   */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Serves all four groups of the service specification on one port of the loopback, over a node: for
 * demos, tests and offline work. Rejects with `OptionError` for invalid options, also for a port in
 * use and when there is neither `upstream` nor anvil, and with other subclasses of `HexlineError`
 * when the upstream node does not answer.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsFrom(options)
  const { chain, apiKey, quotaKeys, seed } = settings
  const endings: (() => Promise<unknown>)[] = []
  let stopped: Promise<void> | undefined
  const stop = () => {
    // In reverse order of their start.
    stopped ??= endings.reduceRight(
      (before, end) =>
        before
          .catch(() => {})
          .then(end)
          .then(() => {}),
      Promise.resolve(),
    )
    return stopped
  }
  try {
    let upstream = settings.upstream
    if (upstream === undefined) {
      const node = await startAnvil(chains[chain])
      endings.push(node.stop)
      upstream = node.url
    }
    const client = createClient(upstream)
    endings.push(client.close)
    // A missing node should fail the start, not the first request.
    const chainId = await client.with({ attempts: 1 }).call('eth_chainId')
    const notifications = new Notifications()
    const limited = limitNode(createForward(upstream, new Alarms(systemClock)), settings, client)
    const forward = withReorganisations(limited, client, notifications)
    endings.push(forward.close)
    const limit = createLimit(settings.callsPerSecond)
    const { latencyMs, allowedHosts } = settings
    const nextFault = createFaults(settings.faults, settings.faultSeed)
    const server = createServer(serviceHandler({ settings, client, forward, limit }), { latencyMs, nextFault, allowedHosts })
    const checkPath = (path: readonly string[]) => checkRpcPath(settings, path)
    const nextNotificationFault = createNotificationFaults(settings.notificationFaults, settings.faultSeed)
    const endWebSockets = serveWebSockets(server, {
      latencyMs,
      nextFault,
      nextNotificationFault,
      notifications,
      allowedHosts,
      checkPath,
      forward,
      limit,
      upstream,
    })
    const port = await listen(server, settings.port)
    // A server closes only when its WebSockets have ended.
    endings.push(() => close(server), endWebSockets)
    const url = `http://127.0.0.1:${port}`
    const bases = { dataUrl: url, nftUrl: url, streamsUrl: url }
    return {
      url,
      rpcUrl: url,
      ...bases,
      apiKey,
      quotaKeys,
      chain,
      chainId,
      service: { ...bases, apiKey },
      upstream,
      seed,
      nodeUrl: () => nodeUrl({ baseUrl: url, chain, apiKey }),
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(new OptionError('port', 'a free port', `${port} (${reasonOf(error)})`))
    })
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** Ends requests in flight with their connections. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
