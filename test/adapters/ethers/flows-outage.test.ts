import type { Socket } from 'node:net'
import { Contract, id, isError, type Log, type TransactionReceipt, toBeHex } from 'ethers'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { alice, type Bed, carol, collector, ethersFlows, failureOf, lineUrl } from '../../support/ethers-flows.ts'
import { putContracts, token, tokenAbi } from '../../support/ethers-flows-contracts.ts'
import { lineTo, watchQuiet } from '../../support/ethers-flows-line.ts'
import { forward, forwardMessages } from '../../support/forward.ts'
import { deadPort, type Entry, serve } from '../../support/server.ts'
import { serveWebSocket } from '../../support/web-socket-server.ts'

const flow = ethersFlows(putContracts)
const urlOf = lineUrl()
const isOverWebSocket = urlOf('http://node').startsWith('ws:')

const never = id('nothing has this hash')
const transfer = ({ ask }: Bed, amount: number) =>
  ask<string>('eth_sendTransaction', { from: alice, to: token, data: tokenAbi.encodeFunctionData('transfer', [carol, amount]), gas: toBeHex(100_000) })
const amountOf = ({ data }: Log) => Number(data)

/** What a listener to logs asks at each block. */
const LOOKS = isOverWebSocket ? 'eth_getLogs' : 'eth_getFilterChanges'

/** Resolves when the next listeners to logs, this many, are active. */
const listensToLogs = ({ answered }: Bed, count = 1) => answered(isOverWebSocket ? 'eth_getBlockByNumber' : 'eth_getFilterChanges', count)

/**
 * A node that cuts the connection of each call to one method while it is broken. `broke` resolves
 * once it has done so.
 */
async function brokenIn(bed: Bed, method: string) {
  const broke = collector<unknown>(1)
  const node = { isBroken: false, broke: broke.all, url: '' }
  const isCut = (entries: readonly Entry[], socket: Socket) => {
    if (!node.isBroken || entries.every((entry) => entry.method !== method)) return false
    socket.destroy()
    broke.add(entries)
    return true
  }
  const [post, pass] = [forward(bed.url), forwardMessages(bed.url)]
  const server = isOverWebSocket
    ? await serveWebSocket((message) => isCut(message.entries, message.peer.socket) || pass(message))
    : await serve((request, response) => isCut(request.entries, request.socket) || post(request, response))
  node.url = server.url
  return node
}

/** Tries again at the next block only. */
const once = { retry: false } as HexlineProviderOptions as object

describe('a node that dies and comes back', () => {
  flow(
    "goes on telling of blocks, those in between, too: on('block')",
    async (bed) => {
      const line = await lineTo(bed.url)
      const provider = bed.make({}, line.url)
      const seen = collector<number>(5)
      const ready = bed.answered('eth_blockNumber')
      await provider.on('block', (number) => seen.add(number))
      await ready
      await bed.mine()
      await line.cut()
      await bed.ask('anvil_mine', '0x3')
      const failure = await failureOf(provider.getBalance(carol))
      await line.restore()
      await bed.mine()
      return { numbers: await seen.all, hasFailed: failure instanceof Error }
    },
    ({ numbers }) => expect(numbers).toEqual([1, 2, 3, 4, 5]),
  )

  flow.alone(
    "goes on telling of logs and what is pending, those in between, too, and prints nothing, where ethers' own prints",
    async (bed) => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(bed.url)
      const provider = bed.make(once, line.url)
      const [before, logs, amounts, pending] = [collector<unknown>(3), collector<Log>(3), collector<bigint>(3), collector<string>(3)]
      const contract = new Contract(token, tokenAbi, provider)
      // What is pending comes by a filter over a WebSocket, too.
      const polledForAll = (ofLogs = LOOKS) =>
        isOverWebSocket ? Promise.all([bed.answered(ofLogs, 2), bed.answered('eth_getFilterChanges')]) : bed.answered('eth_getFilterChanges', 3)
      const ready = Promise.all([bed.answered('eth_blockNumber'), polledForAll('eth_getBlockByNumber')])
      await provider.on({ address: token }, (log) => {
        before.add(log)
        logs.add(log)
      })
      await contract.on('Transfer', (_, __, amount) => {
        before.add(amount)
        amounts.add(amount)
      })
      await provider.on('pending', (hash) => {
        before.add(hash)
        pending.add(hash)
      })
      await ready
      const hashes = [await transfer(bed, 1)]
      // A node reports each change once: a report that is under way when the connection is cut is
      // lost. So the polls at each block are waited for before the next one.
      do {
        const polled = polledForAll()
        await bed.mine()
        await polled
      } while (before.values.length < 3)
      await line.cut()
      hashes.push(await transfer(bed, 2))
      await bed.mine()
      await failureOf(provider.getBlockNumber())
      await line.restore()
      hashes.push(await transfer(bed, 3))
      const told = await bed.mineUntil(Promise.all([logs.all, amounts.all, pending.all]))
      await assertQuiet()
      return { hashes, logs: told[0].map(amountOf), amounts: told[1], pending: told[2] }
    },
    ({ hashes, logs, amounts, pending }) => {
      expect([logs, amounts]).toEqual([
        [1, 2, 3],
        [1n, 2n, 3n],
      ])
      expect(pending).toEqual(hashes)
    },
  )

  flow.alone(
    'ends the earlier waits, and prints nothing',
    async (bed) => {
      const assertQuiet = watchQuiet()
      const line = await lineTo(bed.url)
      const provider = bed.make(once, line.url)
      const hash = await transfer(bed, 4)
      const known = bed.answered('eth_getTransactionReceipt')
      const waiting = provider.waitForTransaction(hash)
      await known
      await line.cut()
      await failureOf(provider.getBlockNumber())
      await line.restore()
      const receipt = await bed.mineUntil(waiting)
      await assertQuiet()
      return receipt
    },
    (receipt) => expect(receipt).toMatchObject({ status: 1, blockNumber: 1 }),
  )
})

describe('a failing call in a listener', () => {
  flow.alone(
    "for new logs is told to on('error'), and no log is lost, where ethers' own prints",
    async (bed) => {
      const assertQuiet = watchQuiet()
      const node = await brokenIn(bed, LOOKS)
      const provider = bed.make(once, node.url)
      const [errors, logs] = [collector<Error>(1), collector<Log>(2)]
      const ready = listensToLogs(bed)
      await provider.on('error', (error) => errors.add(error))
      await provider.on({ address: token }, (log) => logs.add(log))
      await ready
      node.isBroken = true
      await transfer(bed, 1)
      const [error] = await bed.mineUntil(errors.all)
      node.isBroken = false
      await transfer(bed, 2)
      const told = await bed.mineUntil(logs.all)
      await assertQuiet()
      return { error, told: told.map(amountOf) }
    },
    ({ error, told }) => {
      expect(isError(error, 'NETWORK_ERROR')).toBe(true)
      expect(told).toEqual([1, 2])
    },
  )

  flow.alone(
    "for logs by polling leaves no rejection behind and no log out, where ethers' own ends the process",
    async (bed) => {
      const assertQuiet = watchQuiet()
      const node = await brokenIn(bed, 'eth_getLogs')
      const provider = bed.make({ ...once, polling: true }, node.url)
      const logs = collector<Log>(1)
      const ready = isOverWebSocket ? listensToLogs(bed) : bed.answered('eth_blockNumber', 2)
      await provider.on({ address: token }, (log) => logs.add(log))
      await ready
      node.isBroken = true
      await transfer(bed, 1)
      await bed.mineUntil(node.broke)
      node.isBroken = false
      const told = await bed.mineUntil(logs.all)
      await assertQuiet()
      return told.map(amountOf)
    },
    (told) => expect(told).toEqual([1]),
  )

  for (const [name, event, method] of [
    ['for a receipt, on(hash),', 'hash', 'eth_getTransactionReceipt'],
    ["for a block, on('safe'),", 'safe', 'eth_getBlockByNumber'],
  ] as const)
    flow.alone(
      `${name} leaves no rejection behind, where ethers' own ends the process`,
      async (bed) => {
        const assertQuiet = watchQuiet()
        const node = await brokenIn(bed, method)
        node.isBroken = true
        const provider = bed.make(once, node.url)
        const seen = collector<unknown>(1)
        await bed.ask('anvil_mine', toBeHex(40))
        await provider.on(event === 'hash' ? await transfer(bed, 1) : event, (told) => seen.add(told))
        await bed.mineUntil(node.broke)
        node.isBroken = false
        const [told] = await bed.mineUntil(seen.all)
        await assertQuiet()
        return told
      },
      (told) => expect(event === 'hash' ? (told as TransactionReceipt).status : Number(told) > 0).toBeTruthy(),
    )

  flow.alone(
    "in a wait leaves the wait as it is, and is told to on('error')",
    async (bed) => {
      const assertQuiet = watchQuiet()
      const node = await brokenIn(bed, 'eth_getTransactionReceipt')
      const provider = bed.make(once, node.url)
      const errors = collector<Error>(1)
      await provider.on('error', (error) => errors.add(error))
      const hash = await transfer(bed, 1)
      const known = bed.answered('eth_getTransactionReceipt')
      const waiting = provider.waitForTransaction(hash)
      await known
      node.isBroken = true
      const [error] = await bed.mineUntil(errors.all)
      node.isBroken = false
      const receipt = await bed.mineUntil(waiting)
      await assertQuiet()
      return { error, receipt }
    },
    ({ error, receipt }) => {
      expect(isError(error, 'NETWORK_ERROR')).toBe(true)
      expect(receipt?.status).toBe(1)
    },
  )
})

describe('a filter that the node has dropped', () => {
  flow.alone(
    "is made again, and no log is lost, where ethers' own prints and asks for it for ever",
    async (bed) => {
      const assertQuiet = watchQuiet()
      let filter = ''
      const { provider } = bed
      await provider.on('debug', ({ action, payload }) => {
        if (action === 'sendRpcPayload' && payload.method === 'eth_getFilterChanges') filter = payload.params[0]
      })
      const [errors, logs] = [collector<Error>(1), collector<Log>(3)]
      await provider.on('error', (error) => errors.add(error))
      const ready = bed.answered('eth_getFilterChanges')
      const first = collector<Log>(1)
      await provider.on({ address: token }, (log) => {
        first.add(log)
        logs.add(log)
      })
      await ready
      await transfer(bed, 1)
      await bed.mineUntil(first.all)
      // From now on: the next poll may come before the error is looked at.
      const again = bed.answered('eth_newFilter')
      expect(await bed.ask('eth_uninstallFilter', filter)).toBe(true)
      await transfer(bed, 2)
      await bed.mineUntil(errors.all)
      await bed.mineUntil(again)
      await transfer(bed, 3)
      const told = await bed.mineUntil(logs.all)
      await assertQuiet()
      return told.map(amountOf)
    },
    (told) => expect(told).toEqual([1, 2, 3]),
    // Over a WebSocket there is no filter.
    { needsHttp: true },
  )
})

describe('a node that is dead at the start', () => {
  const kinds = {
    blocks: [(provider) => provider.on('block', () => {}), {}],
    'logs by a filter': [(provider) => provider.on({ address: token }, () => {}), {}],
    'logs by polling': [(provider) => provider.on({ address: token }, () => {}), { polling: true }],
    'what is pending': [(provider) => provider.on('pending', () => {}), {}],
    'a receipt': [(provider) => provider.on(never, () => {}), {}],
    'what is safe': [(provider) => provider.on('safe', () => {}), {}],
  } satisfies Record<string, [(provider: HexlineProvider) => Promise<unknown>, HexlineProviderOptions]>

  it.each(Object.entries(kinds))('accepts listeners for %s, and nothing is printed', async (_, [listen, options]) => {
    const assertQuiet = watchQuiet()
    const provider = new HexlineProvider(urlOf(`http://127.0.0.1:${await deadPort()}`), undefined, { pollingInterval: 20, retry: false, ...options })
    onTestFinished(() => provider.destroy())
    const failed = collector<unknown>(3)
    await provider.on('debug', ({ action, error }) => action === 'receiveRpcError' && failed.add(error))
    await listen(provider)
    for (const error of await failed.all) expect(error).toMatchObject({ code: 'NETWORK_ERROR' })
    await assertQuiet()
  })
})
