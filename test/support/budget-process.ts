/*
 * A worker at an endpoint, by the built package: calls that wait all the time, under a budget that
 * it shares with others. It is forked, with the URLs of the endpoint and of Redis and the name of a
 * method as arguments. It says when it is ready, begins when it is told to, and ends at SIGTERM or
 * with the process that has started it.
 */
import { createClient } from 'hexline'
import { shareBudget } from 'hexline/bullmq'
import { Redis } from 'ioredis'

const [url = '', redisUrl = '', method = ''] = process.argv.slice(2)
/** Calls that wait at a time. */
const WAITING = 40

process.on('disconnect', () => process.exit())
const client = createClient(url, { dedupe: false })
shareBudget(client, new Redis(redisUrl))
const bulk = client.with({ priority: 'bulk' })
let next = 0
process.once('message', () => {
  for (let i = 0; i < WAITING; i++) void call()
})
process.send?.('ready')

/** A call that fails ends the process, which the test sees. */
async function call(): Promise<never> {
  for (;;) await bulk.request({ method, params: [next++] })
}
