import { createClient } from 'hexline'
import { getLogs } from 'hexline/bulk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rangeLimit } from '../../src/eth/errors/log-range.ts'
import { all, BLOCKS, hex, kindOf, LOGS, type LoggedChain, limited, rpc, startLoggedChain } from './limited.ts'

let chain: LoggedChain

beforeAll(async () => {
  chain = await startLoggedChain()
})
afterAll(() => chain?.whole.stop())

const filter = (fromBlock: unknown, toBlock: unknown) => ({ address: chain.address, fromBlock, toBlock })
const blocks = (from: number, to: number) => filter(hex(from), hex(to))
const everything = () => filter('earliest', 'latest')
const nameOf = (log: { transactionHash: unknown; logIndex: unknown }) => `${log.transactionHash} ${Number(log.logIndex)}`

describe('maxLogRange', () => {
  it('refuses longer ranges, both ends counted, with the limit in the message', async () => {
    await using sandbox = await limited(chain, { maxLogRange: 10 })
    const { first, head } = chain
    expect(await rpc(sandbox, 'eth_getLogs', blocks(first, first + 9))).toHaveLength(10 * LOGS)
    const refusal = [-32602, 'query exceeds max block range 10']
    expect(await rpc(sandbox, 'eth_getLogs', blocks(first, first + 10))).toEqual(refusal)
    expect(await rpc(sandbox, 'eth_getLogs', filter(hex(head - 9), 'latest'))).toEqual([])
    expect(await rpc(sandbox, 'eth_getLogs', filter(hex(head - 10), 'latest'))).toEqual(refusal)
    expect(await rpc(sandbox, 'eth_getLogs', filter(0, head))).toEqual(refusal)
    expect(rangeLimit(refusal[1] as string)).toBe(10)
    expect(await kindOf(sandbox, 'eth_getLogs', everything())).toBe('range-too-large')
  })

  it('leaves it to the node to refuse an invalid filter', async () => {
    await using sandbox = await limited(chain, { maxLogRange: 10 })
    for (const wrong of [filter('0x2', '0x1'), filter('newest', 'latest'), 'logs', { ...blocks(1, 2), address: '0x12' }, { blockHash: `0x${'ab'.repeat(32)}` }])
      expect([wrong, await rpc(sandbox, 'eth_getLogs', wrong)]).toEqual([wrong, await rpc(chain.whole, 'eth_getLogs', wrong)])
  })
})

describe('maxResults', () => {
  it('refuses more logs', async () => {
    await using sandbox = await limited(chain, { maxResults: 2 * LOGS })
    const { first } = chain
    expect(await rpc(sandbox, 'eth_getLogs', blocks(first, first + 1))).toHaveLength(2 * LOGS)
    expect(await rpc(sandbox, 'eth_getLogs', blocks(first, first + 2))).toEqual([-32005, `query returned more than ${2 * LOGS} results`])
    expect(await kindOf(sandbox, 'eth_getLogs', everything())).toBe('range-too-large')
  })

  it('sends the first ones only, and does not say so', async () => {
    await using sandbox = await limited(chain, { maxResults: { most: 100, silently: true } })
    const logs = await rpc(chain.whole, 'eth_getLogs', everything())
    expect(logs).toHaveLength(BLOCKS * LOGS)
    expect(await rpc(sandbox, 'eth_getLogs', everything())).toEqual(logs.slice(0, 100))
  })

  it('counts the logs of a block that is named by its hash', async () => {
    await using sandbox = await limited(chain, { maxResults: { most: 7, silently: true } })
    const { hash } = await rpc(sandbox, 'eth_getBlockByNumber', hex(chain.last), false)
    expect(await rpc(sandbox, 'eth_getLogs', { blockHash: hash })).toHaveLength(7)
  })
})

describe('dropLogs', () => {
  it('leaves out a share of the logs, the same ones in each range; receipts have them', async () => {
    await using sandbox = await limited(chain, { dropLogs: 0.25 })
    const whole = await rpc(chain.whole, 'eth_getLogs', everything())
    const some = await rpc(sandbox, 'eth_getLogs', everything())
    // Seven standard deviations around a quarter.
    expect(whole.length - some.length).toBeGreaterThan(100)
    expect(whole.length - some.length).toBeLessThan(260)
    expect(whole.map(nameOf)).toEqual(expect.arrayContaining(some.map(nameOf)))
    const parts = []
    for (let block = chain.first; block <= chain.last; block++) parts.push(...(await rpc(sandbox, 'eth_getLogs', blocks(block, block))))
    expect(parts).toEqual(some)
    const [receipt] = await rpc(sandbox, 'eth_getBlockReceipts', hex(chain.last))
    expect(receipt.logs).toHaveLength(LOGS)
  })

  it('leaves out all of them with 1', async () => {
    await using sandbox = await limited(chain, { dropLogs: 1 })
    expect(await rpc(sandbox, 'eth_getLogs', everything())).toEqual([])
  })
})

describe('getLogs', () => {
  const allLogs = async (options: Parameters<typeof limited>[1], audit: 'none' | 'receipts') => {
    await using sandbox = await limited(chain, options)
    await using client = createClient(sandbox.nodeUrl())
    const logs = getLogs(client, { address: chain.address, from: 0, to: 'latest', audit })
    return { names: (await all(logs)).map(nameOf), audit: logs.audit }
  }

  it('gives all logs of a node that leaves some out and cuts its replies silently', async () => {
    const whole = await rpc(chain.whole, 'eth_getLogs', everything())
    const { names, audit } = await allLogs({ dropLogs: 0.05, maxResults: { most: 500, silently: true } }, 'receipts')
    expect(names).toEqual(whole.map(nameOf))
    expect(audit).toMatchObject({ level: 'receipts', blocks: chain.head + 1, unproven: 0 })
    expect(audit.recovered).toBeGreaterThan(0)
  })

  it.each([
    ['says its limits', { maxLogRange: 50, maxResults: 100 }],
    ['cuts its replies silently', { maxResults: { most: 500, silently: true } }],
    ['sends fewer logs than one block has', { maxResults: LOGS - 1 }],
  ])('gives all logs of a node that %s', async (_, options) => {
    const whole = await rpc(chain.whole, 'eth_getLogs', everything())
    expect((await allLogs(options, 'none')).names).toEqual(whole.map(nameOf))
  })
})
