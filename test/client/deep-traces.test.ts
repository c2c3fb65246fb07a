import { expect, it } from 'vitest'
import { hexline } from '../support/command.ts'
import { type Answer, clientOf, serve } from '../support/server.ts'

const DEPTH = 10_000
const HASH = `0x${'cd'.repeat(32)}` as const
const START = `{"type":"CALL","from":"0x${'ab'.repeat(20)}","gas":"0x10","gasUsed":"0x1","input":"0x","calls":[`

/** A node whose traces are frames in frames, with this amount in the innermost. */
function nodeOf(gas: string): Answer {
  const trace = `${START.repeat(DEPTH - 1)}{"type":"CALL","from":"0x","gas":${gas}}${']}'.repeat(DEPTH - 1)}`
  return ({ entries, isBatch }, response) => {
    const replies = entries.map(
      ({ id, method }) => `{"jsonrpc":"2.0","id":${id},"result":${method.startsWith('debug_traceBlock') ? `[{"result":${trace}}]` : trace}}`,
    )
    response.writeHead(200, { 'content-type': 'application/json' }).end(isBatch ? `[${replies.join(',')}]` : replies[0])
  }
}

it('frames nested 10,000 deep are decoded, also for two callers at once, and with the traces of a block', async () => {
  const client = clientOf((await serve(nodeOf('"0xff"'))).url)
  const options = { tracer: 'callTracer' } as const
  const [one, other, block] = await Promise.all([
    client.call('debug_traceTransaction', HASH, options),
    client.call('debug_traceTransaction', HASH, options),
    client.call('debug_traceBlockByHash', HASH, options),
  ])
  for (const trace of [one, other, block[0]?.result]) {
    let frame = trace
    let depth = 1
    for (; frame?.calls !== undefined; depth++) frame = frame.calls[0]
    expect([depth, frame?.gas]).toEqual([DEPTH, 255n])
  }
  expect(one === other).toBe(false)
})

it('one that is wrong at the bottom is refused with a short path', async () => {
  const client = clientOf((await serve(nodeOf('"much"'))).url)
  const path = /^\S+ debug_traceTransaction: (?:calls\[0\]\.){5}\(9989 more\)\.(?:calls\[0\]\.){5}gas: expected a hex quantity, received "much"$/
  const failed = await client.call('debug_traceTransaction', HASH, { tracer: 'callTracer' }).catch((error: Error) => error)
  expect((failed as Error).message.replace(/^.*?(?=calls)/, '127.0.0.1: debug_traceTransaction: ')).toMatch(path)
})

it('the command prints one as the node sent it with --raw, and says so without', async () => {
  const { url } = await serve(nodeOf('"0xff"'))
  const args = ['call', 'debug_traceTransaction', HASH, '{"tracer":"callTracer"}', '--rpc', url]
  const raw = await hexline([...args, '--raw'])
  expect([raw.code, raw.stdout.match(/"calls":/g)?.length]).toEqual([0, DEPTH - 1])
  for (const more of [[], ['--json']]) {
    const { code, stdout, stderr } = await hexline([...args, ...more])
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('too deeply nested to show: --raw prints it as the node sent it')])
  }
})
