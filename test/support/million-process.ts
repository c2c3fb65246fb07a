/*
 * A program that makes a given number of small calls, and reports its memory use ten times on the
 * way, as a line of JSON. Run with --expose-gc. Arguments: the node's URL, and the number of calls.
 */
import { createClient } from '../../src/index.ts'

const [url = '', count = ''] = process.argv.slice(2)
const calls = Number(count)
const client = createClient(url)

function tell(done: number): void {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const resources = process.getActiveResourcesInfo()
  const of = (name: string) => resources.filter((each) => each.startsWith(name)).length
  console.log(JSON.stringify({ done, heapUsed: process.memoryUsage().heapUsed, sockets: of('TCP'), timers: of('Timeout') }))
}

let next = 0
const ask = async (until: number) => {
  while (next < until) {
    const mine = next++
    if ((await client.request({ method: 'eth_getBalance', params: [mine] })) !== '0x1') throw new Error(`call ${mine} got another result`)
  }
}
for (let tenth = 1; tenth <= 10; tenth++) {
  await Promise.all(Array.from({ length: 500 }, () => ask((calls * tenth) / 10)))
  tell(next)
}
await client.close()
