import { Contract, FallbackProvider, type FallbackProviderOptions, type JsonRpcApiProviderOptions, type JsonRpcProvider, parseEther, Wallet } from 'ethers'
import type { HexlineProviderOptions } from 'hexline/ethers'
import { describe, expect } from 'vitest'
import { startAnvil } from '../../support/anvil.ts'
import { bob, carol, collector, ethersFlows, failureOf, fast, lineUrl } from '../../support/ethers-flows.ts'
import { type History, makeHistory, named, namedAbi, putContracts, reason, refuserAbi, talker, token } from '../../support/ethers-flows-contracts.ts'
import { lineTo, watchQuiet } from '../../support/ethers-flows-line.ts'
import { deadPort, serve, silent } from '../../support/server.ts'
import { never, serveWebSocket } from '../../support/web-socket-server.ts'

let history: History
const isOverWebSocket = lineUrl()('http://node').startsWith('ws:')
const flow = ethersFlows(async (bed) => {
  await putContracts(bed)
  history = await makeHistory(bed)
})

/** A node that answers nothing, and the number of requests that it has received. */
async function hangingNode() {
  if (isOverWebSocket) {
    const { url, messages } = await serveWebSocket(never)
    return { url, asked: () => messages.length }
  }
  const { url, requests } = await serve(silent)
  return { url, asked: () => requests.length }
}

/** ethers' FallbackProvider over these, called in this order. */
function over(members: JsonRpcProvider[], options: FallbackProviderOptions = {}) {
  const { cacheTimeout, pollingInterval } = fast
  return new FallbackProvider(
    members.map((provider, i) => ({ provider, priority: i + 1, stallTimeout: 100 })),
    undefined,
    { cacheTimeout, pollingInterval, ...options },
  )
}

async function readAll(provider: FallbackProvider) {
  return {
    network: await provider.getNetwork(),
    number: await provider.getBlockNumber(),
    blocks: [await provider.getBlock(1), await provider.getBlock('latest', true), await provider.getBlock(99)],
    account: [
      await provider.getBalance(carol),
      await provider.getTransactionCount(bob.address),
      await provider.getCode(token),
      await provider.getStorage(token, 0),
    ],
    name: await new Contract(named, namedAbi, provider).name?.(),
    gas: await provider.estimateGas({ from: bob.address, to: carol, value: 1 }),
    fees: await provider.getFeeData(),
    logs: await provider.getLogs({ address: token, fromBlock: 0 }),
    transaction: await provider.getTransaction(history.first),
    receipt: await provider.getTransactionReceipt(history.first),
    failure: await (async () => {
      const { code, reason } = await failureOf(new Contract(talker, refuserAbi, provider).look?.() as Promise<bigint>)
      return { code, reason }
    })(),
  }
}

function check({ number, account, name, logs, receipt, failure }: Awaited<ReturnType<typeof readAll>>) {
  // From two that return 3, ethers' fuzzy mode makes 4.
  expect(number === 3 || number === 4).toBe(true)
  expect([account[0], name, logs.length, receipt?.status]).toEqual([parseEther('10001'), 'Hexline', 2, 1])
  expect(failure).toEqual({ code: 'CALL_EXCEPTION', reason })
}

describe('FallbackProvider of two live nodes', () => {
  for (const quorum of [1, 2]) {
    flow(`reads everything, with a quorum of ${quorum}`, async (bed) => readAll(over([bed.provider, bed.make()], { quorum })), check)

    flow(
      `sends, waits and tells of blocks, with a quorum of ${quorum}`,
      async (bed) => {
        const provider = over([bed.provider, bed.make()], { quorum })
        const seen = collector<number>(1)
        const sent = await new Wallet(bob.privateKey, provider).sendTransaction({ to: carol, value: 3 })
        await provider.on('block', (number) => seen.add(number))
        // A block mined between the two replies would prevent a quorum of 2, so it is mined before
        // the calls.
        if (quorum === 2) await bed.ask('evm_mine')
        const receipt = quorum === 2 ? await sent.wait() : await bed.mineUntil(sent.wait())
        await bed.mineUntil(seen.all)
        await provider.removeAllListeners()
        return { sent, receipt, hasSeen: seen.values.length > 0 }
      },
      ({ sent, receipt }) => expect(receipt).toMatchObject({ hash: sent.hash, status: 1, blockNumber: 4 }),
    )
  }

  flow(
    'has no quorum of 2 if they disagree',
    async (bed) => {
      const other = await startAnvil({ timestamp: 1_600_000_000 })
      try {
        const provider = over([bed.provider, bed.make({}, other.url)], { quorum: 2 })
        const { code, shortMessage } = await failureOf(provider.getCode(token))
        return { code, shortMessage }
      } finally {
        await other.stop()
      }
    },
    (failure) => expect(failure).toEqual({ code: 'SERVER_ERROR', shortMessage: 'quorum not met' }),
  )
})

describe("FallbackProvider with a node that is dead from the start, where ethers' own hangs and prints a line each second", () => {
  for (const place of ['first', 'second'])
    flow.alone(
      `reads everything with a quorum of 1, the dead one ${place}`,
      async (bed) => {
        const assertQuiet = watchQuiet()
        const dead = bed.make({}, `http://127.0.0.1:${await deadPort()}`)
        const told = await readAll(over(place === 'first' ? [dead, bed.provider] : [bed.provider, dead], { quorum: 1 }))
        await assertQuiet()
        return told
      },
      check,
    )

  flow.alone(
    'sends and waits with a quorum of 1',
    async (bed) => {
      const assertQuiet = watchQuiet()
      const dead = bed.make({}, `http://127.0.0.1:${await deadPort()}`)
      const provider = over([dead, bed.provider], { quorum: 1 })
      const sent = await new Wallet(bob.privateKey, provider).sendTransaction({ to: carol, value: 3 })
      const receipt = await bed.mineUntil(sent.wait())
      await provider.removeAllListeners()
      await assertQuiet()
      return receipt
    },
    (receipt) => expect(receipt).toMatchObject({ status: 1, from: bob.address }),
  )

  flow.alone(
    'fails with a quorum of 2, and when both are dead',
    async (bed) => {
      const assertQuiet = watchQuiet()
      const dead = `http://127.0.0.1:${await deadPort()}`
      const failures = [
        await failureOf(over([bed.make({}, dead), bed.provider], { quorum: 2 }).getBalance(carol)),
        await failureOf(over([bed.make({}, dead), bed.make({}, dead)], { quorum: 1 }).getBalance(carol)),
      ]
      await assertQuiet()
      return failures
    },
    ([two, both]) => {
      expect(two).toMatchObject({ code: 'SERVER_ERROR', shortMessage: 'quorum not met' })
      expect(both?.message).toBe('no runners?!')
    },
  )
})

describe('FallbackProvider with a node that hangs from the start, for which ethers waits at the first call', () => {
  for (const place of ['first', 'second'])
    flow.alone(
      `reads everything with a quorum of 1 when that one gives up by itself, the hanging one ${place}`,
      async (bed) => {
        const hanging = await hangingNode()
        const given: HexlineProviderOptions = { timeoutMs: 100, retry: false }
        const member = bed.make(given as JsonRpcApiProviderOptions, hanging.url)
        const told = await readAll(over(place === 'first' ? [member, bed.provider] : [bed.provider, member], { quorum: 1 }))
        return { told, asked: hanging.asked() }
      },
      ({ told, asked }) => {
        check(told)
        // None has come to it where the timeout was there first.
        expect(asked).toBeLessThanOrEqual(1)
      },
    )
})

describe('FallbackProvider with a node that dies later', () => {
  flow(
    'continues with the other two, with a quorum of 2',
    async (bed) => {
      const passing = await startAnvil({ timestamp: 1_600_000_000 })
      try {
        const provider = over([bed.make({}, passing.url), bed.provider, bed.make()], { quorum: 2 })
        const before = await provider.getBlock(0)
        await passing.stop()
        return { before, after: await provider.getBlock(1), balance: await provider.getBalance(carol) }
      } finally {
        await passing.stop()
      }
    },
    ({ before, after, balance }) => {
      expect([before?.timestamp, after?.number]).toEqual([1_700_000_000, 1])
      expect(balance).toBe(parseEther('10001'))
    },
  )

  flow(
    'fails until the node is back with a quorum of 1, which a single failure satisfies in ethers',
    async (bed) => {
      const line = await lineTo(bed.url)
      const provider = over([bed.make({}, line.url), bed.provider], { quorum: 1 })
      const before = await provider.getBalance(carol)
      await line.cut()
      // ethers' own lets the error of Node.js through, whichever it is.
      const failure = await failureOf(provider.getBalance(carol))
      if (bed.isHexline) expect(failure).toMatchObject({ code: 'NETWORK_ERROR' })
      await line.restore()
      return { before, hasFailed: failure instanceof Error, after: await provider.getBalance(carol) }
    },
    ({ before, hasFailed, after }) => {
      expect(hasFailed).toBe(true)
      expect(after).toBe(before)
    },
  )

  flow(
    'has no quorum of 2 until it comes back',
    async (bed) => {
      const line = await lineTo(bed.url)
      const provider = over([bed.make({}, line.url), bed.provider], { quorum: 2 })
      const before = await provider.getBalance(carol)
      await line.cut()
      // Each provider has its own message for a dead node.
      const { code, shortMessage } = await failureOf(provider.getBalance(carol))
      await line.restore()
      return { before, failure: { code, shortMessage }, after: await provider.getBalance(carol) }
    },
    ({ before, failure, after }) => {
      expect(failure).toEqual({ code: 'SERVER_ERROR', shortMessage: 'quorum not met' })
      expect(after).toBe(before)
    },
  )

  flow.alone(
    "tells of blocks all the same, with a quorum of 2 of 3 (over ethers' own it falls silent now and then)",
    async (bed) => {
      const line = await lineTo(bed.url)
      const provider = over([bed.make({}, line.url), bed.provider, bed.make()], { quorum: 2 })
      const [before, after] = [collector<number>(1), collector<number>(2)]
      await provider.on('block', (number) => {
        before.add(number)
        after.add(number)
      })
      await bed.mineUntil(before.all)
      await line.cut()
      await bed.mineUntil(after.all)
      await provider.removeAllListeners()
      return after.values.length >= 2
    },
    (hasGoneOn) => expect(hasGoneOn).toBe(true),
  )
})
