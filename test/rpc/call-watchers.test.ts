import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type Post, replyOf } from '../../src/index.ts'
import { areCallsWatched, type CallEnded, type CallWatcher, reportBegun, reportEnded, reportPostBegun, watchCalls } from '../../src/rpc/call-watchers.ts'
import { numbered } from '../../src/rpc/events.ts'
import { eventsOf } from '../support/events.ts'
import { clientOf, errorOf, gate, honest, read, refuse, serve } from '../support/server.ts'
import { uncaughtErrors } from '../support/uncaught.ts'

function watch(watcher: CallWatcher): () => void {
  const stop = watchCalls(watcher)
  onTestFinished(stop)
  return stop
}

/** Collects what it is told. */
function collector(): { readonly ends: Parameters<CallEnded>[]; readonly ended: CallEnded } {
  const ends: Parameters<CallEnded>[] = []
  return { ends, ended: (...end) => void ends.push(end) }
}

const end = (id: number) => reportEnded(id, 'eth_call', 'answered', 'a', 1, 5, 40, undefined)

describe('a watcher', () => {
  test('is told what the events say of a call', async () => {
    const begun: unknown[][] = []
    const { ends, ended } = collector()
    watch({ begun: (...start) => void begun.push(start), ended })
    const [starts, events] = [eventsOf('hexline:call:start'), eventsOf('hexline:call')]
    const [server, other] = [await serve(honest), await serve(refuse(3, 'execution reverted'))]
    await read(clientOf(server.url).with({ priority: 'bulk' }), 1)
    await errorOf(read(clientOf(other.url), 2))
    await read(clientOf(server.url).with({ signal: AbortSignal.abort() }), 3).catch(() => {})
    expect(begun).toEqual(starts.map(({ id, method, priority }) => [id, method, priority, expect.any(Number)]))
    expect(events.map(({ outcome }) => outcome)).toEqual(['answered', 'failed', 'aborted'])
    expect(ends).toEqual(
      events.map(({ id, method, outcome, endpoint, attempts, durationMs, bytes, kind, rpcCode }) => {
        return [id, method, outcome, endpoint, attempts, durationMs, bytes, outcome === 'failed' ? { kind, rpcCode } : undefined]
      }),
    )
  })

  test.each(['call', 'request', 'send'] as const)('is told of calls made by `%s`, in the context of the caller', async (way) => {
    const { ends, ended } = collector()
    const callers = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    watch({ begun: () => void seen.push(callers.getStore()), ended })
    const server = await serve(honest)
    const client = clientOf(server.url)
    const ask = {
      call: () => client.call('eth_blockNumber').catch(() => {}),
      request: () => client.request({ method: 'eth_blockNumber' }),
      send: () => client.send({ method: 'eth_blockNumber' }),
    }
    await callers.run('a', ask[way])
    expect(seen).toEqual(['a'])
    expect(ends.map((each) => each.slice(1, 5))).toEqual([['eth_blockNumber', 'answered', `127.0.0.1:${server.port}`, 1]])
  })

  test('is told nothing after its own end; one that came in between is told of a call that was told before it', async () => {
    const [first, second] = [collector(), collector()]
    const stop = watch({ ended: first.ended })
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    const last = numbered.calls
    stop()
    stop()
    expect(areCallsWatched()).toBe(false)
    watch({ ended: second.ended })
    held.open()
    await call
    await read(clientOf(server.url), 2)
    expect(first.ends).toEqual([])
    expect(second.ends.map(([id]) => id)).toEqual([last, last + 1])
  })

  test('is not told of a call that began while nobody watched', async () => {
    const { ends, ended } = collector()
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    watch({ ended })
    held.open()
    await call
    expect(ends).toEqual([])
  })
})

test('several watchers are told each call, and each can be registered twice', () => {
  const [one, two] = [collector(), collector()]
  watch({ ended: one.ended })
  watch({ begun: () => {} })
  const watcher: CallWatcher = { ended: two.ended }
  const stops = [watch(watcher), watch(watcher)]
  end(1)
  expect([one.ends.length, two.ends.length]).toEqual([1, 2])
  expect(two.ends[1]).toEqual([1, 'eth_call', 'answered', 'a', 1, 5, 40, undefined])
  stops[0]?.()
  end(2)
  expect([one.ends.length, two.ends.length]).toEqual([2, 3])
})

test.each([0, 1, 2])('a watcher that throws breaks no call and no other watcher; its error is reported: number %i of three', async (at) => {
  const uncaught = uncaughtErrors()
  const told: string[] = []
  for (let i = 0; i < 3; i++) {
    const tell = (what: string) => {
      if (i === at) throw new Error(what)
      told.push(what)
    }
    watch({ begun: () => tell('begun'), ended: () => tell('ended') })
  }
  reportBegun(1, 'eth_call', 'bulk', 0)
  end(1)
  expect(told).toEqual(['begun', 'begun', 'ended', 'ended'])
  await expect.poll(() => uncaught).toEqual(['begun', 'ended'])
})

test('a watcher that leaves while a call or a POST is told keeps no other from hearing of it', () => {
  const told: string[] = []
  const stops: (() => void)[] = []
  const leave = (name: string) => {
    told.push(name)
    stops[0]?.()
  }
  for (const name of ['first', 'second', 'third']) {
    const postBegun = () => {
      leave(`${name} POST`)
      return undefined
    }
    stops.push(watch({ begun: () => leave(`${name} call`), postBegun }))
  }
  reportBegun(1, 'eth_call', 'bulk', 0)
  stops.shift()
  reportPostBegun('node', 1, () => [1], 0)
  reportBegun(2, 'eth_call', 'bulk', 0)
  expect(told).toEqual(['first call', 'second call', 'third call', 'second POST', 'third POST', 'third call'])
})

describe('a watcher of POSTs', () => {
  test('counts no bytes of a result whose size a post function does not tell', async () => {
    const bytes: number[] = []
    watch({ postBegun: () => (figures) => void bytes.push(figures.bytes) })
    const post = (async (calls) => calls.map((_, i) => (i === 0 ? { take: () => '0x1' } : replyOf('0x1', 5)))) as Post
    const client = createClient(post)
    await Promise.all([client.call('eth_chainId'), client.call('eth_gasPrice')])
    expect(bytes).toEqual([5])
  })

  test('is told what the events say of a POST, and the ids of its calls', async () => {
    const ends: unknown[] = []
    const begun: unknown[][] = []
    watch({
      postBegun(endpoint, calls, callIds) {
        begun.push([endpoint, calls, callIds()])
        return (figures) => void ends.push(figures)
      },
    })
    const [starts, events] = [eventsOf('hexline:post:start'), eventsOf('hexline:post')]
    const server = await serve(honest, refuse(3, 'execution reverted'))
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 1)])
    await errorOf(read(client, 2))
    expect(begun).toEqual(starts.map(({ endpoint, calls, callIds }) => [endpoint, calls, callIds]))
    expect(begun.map(([, calls, ids]) => [calls, (ids as number[]).length])).toEqual([
      [1, 2],
      [1, 1],
    ])
    expect(ends).toEqual(events.map(({ id: _, ...figures }) => figures))
    expect(ends).toHaveLength(2)
  })

  test('costs no number and no event, and is told the end of a POST that began before its own end', async () => {
    const ends: unknown[] = []
    const stop = watch({ postBegun: () => (figures) => void ends.push(figures) })
    const before = numbered.posts
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    stop()
    const events = eventsOf('hexline:post')
    held.open()
    await call
    expect([ends.length, numbered.posts - before, events]).toEqual([1, 0, []])
    await read(clientOf(server.url), 2)
    expect([ends.length, events.length]).toEqual([1, 1])
  })

  test('is one of several; one that throws breaks no POST and no other, and its error is reported', async () => {
    const ends: string[] = []
    const watchers: CallWatcher['postBegun'][] = [
      () => () => void ends.push('first'),
      () => undefined,
      () => {
        throw new Error('begun')
      },
      () => () => {
        throw new Error('ended')
      },
      () => () => void ends.push('last'),
      () => () => {
        throw new Error('ended last')
      },
    ]
    for (const postBegun of watchers) watch({ postBegun })
    const uncaught = uncaughtErrors()
    const post: Post = async (calls) => calls.map(() => replyOf('0x1'))
    expect(await createClient(post).call('eth_chainId')).toBe(1)
    expect(ends).toEqual(['first', 'last'])
    await expect.poll(() => uncaught).toEqual(['begun', 'ended', 'ended last'])
  })
})
