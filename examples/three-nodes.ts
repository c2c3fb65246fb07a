/*
 * Three nodes, of which one dies: 3,000 reads, and none fails. The nodes are three sandboxes on this
 * machine, over one real node; the second one stops after a third of the reads.
 *
 *     npm install hexline @foundry-rs/anvil
 *     npm pkg set type=module
 *     node three-nodes.ts [READS]
 *
 * (`node` from 22.18; before, `npx tsx`.) The real node is that of HEXLINE_RPC_URL, or an anvil that
 * it starts. It prints what hexline sees, and how many calls each node was sent:
 *
 *     127.0.0.1:40001 stops
 *     127.0.0.1:40001 is left out: it fails
 *     3000 answers, 0 failures
 *     calls: 2211 to 127.0.0.1:40000, 320 to 127.0.0.1:40001, 475 to 127.0.0.1:40002
 *
 * With nodes of your own, all it takes is `createClient([url, url, url])`.
 */
import { subscribe } from 'node:diagnostics_channel'
import { createClient, type PostEvent, type RouteEvent } from 'hexline'
import { type Sandbox, startSandbox } from 'hexline/sandbox'

const count = Number(process.argv[2] ?? 3000)
const upstream = process.env.HEXLINE_RPC_URL

let stopped = false
process.once('SIGINT', () => {
  stopped = true // a second Ctrl-C ends it at once
})

const calls = new Map<string, number>()
subscribe('hexline:post', (message) => {
  const { endpoint, calls: sent } = message as PostEvent
  if (calls.has(endpoint)) calls.set(endpoint, (calls.get(endpoint) ?? 0) + sent)
})
subscribe('hexline:route', (message) => {
  const event = message as RouteEvent
  if (event.change === 'left-out') console.log(`${event.endpoint} is left out: it ${event.reason}`)
})

const nodes: Sandbox[] = []
try {
  const main = await startSandbox(upstream === undefined ? {} : { upstream })
  nodes.push(main)
  for (let i = 0; i < 2; i++) nodes.push(await startSandbox({ upstream: main.upstream }))
  for (const { url } of nodes) calls.set(new URL(url).host, 0)
  const dying = nodes[1] as Sandbox

  // Bulk reads are spread over all nodes.
  const client = createClient(nodes.map((node) => node.nodeUrl()) as [string, string, string])
  const reader = client.with({ priority: 'bulk' })
  let answers = 0
  let failures = 0
  for (let i = 0; i < count && !stopped; i += 20) {
    if (i === 20 * Math.floor(count / 60)) {
      console.log(`${new URL(dying.url).host} stops`)
      void dying.stop()
    }
    const some = Array.from({ length: 20 }, (_, j) => reader.call('eth_getBalance', `0x${(i + j).toString(16).padStart(40, '0')}`))
    for (const { status } of await Promise.allSettled(some)) status === 'fulfilled' ? answers++ : failures++
  }
  await client.close()
  console.log(`${answers} answers, ${failures} failures`)
  console.log(`calls: ${[...calls].map(([endpoint, sent]) => `${sent} to ${endpoint}`).join(', ')}`)
} catch (error) {
  console.error(String(error))
  process.exitCode = 1
} finally {
  for (const node of nodes.reverse()) await node.stop()
}
