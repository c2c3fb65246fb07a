import { describe, expect, it, onTestFinished } from 'vitest'
import { BloomBuilder } from '../../../src/eth/bloom.ts'
import { createClient } from '../../../src/index.ts'
import { type GetLogsOptions, getLogs } from '../../../src/index-bulk.ts'
import { type LogChain, type LogChainOptions, startLogChain, TRANSFER, tokens, type WireLog } from '../../support/log-chain.ts'

const filter = { address: tokens.slice(0, 4) as `0x${string}`[], topics: [TRANSFER] as `0x${string}`[] }
const HEAD = 40
const anotherWord = `0x${'d'.repeat(64)}`
const zero = `0x${'0'.repeat(512)}`

const keyOf = ({ blockNumber, logIndex, data }: WireLog) => `${Number(blockNumber)}/${Number(logIndex)}/${data}`
const rightKeys = (chain: LogChain, which: object = filter) => chain.logs(0, HEAD, which).map(keyOf)

async function audited(chains: LogChain | readonly LogChain[], options: Partial<GetLogsOptions>) {
  const client = createClient([chains].flat().map(({ url }) => url) as never, { deadlineMs: 60_000 })
  onTestFinished(() => client.close())
  const logs = getLogs(client, { ...filter, from: 0n, to: 'latest', ...options } as GetLogsOptions)
  const keys: string[] = []
  for await (const { blockNumber, logIndex, data } of logs) keys.push(`${blockNumber}/${logIndex}/${data}`)
  return { keys, audit: logs.audit }
}

const noRoot = () => `0x${'0'.repeat(64)}`
/** The bloom stays the same. */
const withOtherData = (log: WireLog) => [log.logIndex === '0x2' ? { ...log, data: anotherWord } : log]
const ROOT = "the receipts do not have the header's receipts root"

const start = (options: Partial<LogChainOptions> = {}) => startLogChain({ head: HEAD, ...options })

describe('receipts whose logs cannot be those of the block', () => {
  it.each<[string, (log: WireLog) => unknown[]]>([
    ['come twice', (log) => [log, log]],
    ['are numbered within their transactions', (log) => [{ ...log, logIndex: '0x0' }]],
    ['have no index', (log) => [{ ...log, logIndex: null }]],
    ['have no block', (log) => [{ ...log, blockNumber: null }]],
    ['are of another block', (log) => [{ ...log, blockHash: anotherWord }]],
    ['are of another number', (log) => [{ ...log, blockNumber: '0x999' }]],
    ['have no data', (log) => [{ ...log, data: null }]],
    ['were removed', (log) => [{ ...log, removed: true }]],
  ])('prove nothing, and add nothing: they %s', async (_, receiptLogs) => {
    const complete = await start({ receiptLogs })
    const proven = await audited(complete, { audit: 'receipts' })
    expect(proven.keys).toEqual(rightKeys(complete))
    expect(proven.audit).toMatchObject({ recovered: 0, unproven: HEAD + 1, reasons: { 'the logs of its receipts contradict each other': HEAD + 1 } })
    const emptied = await start({ receiptLogs, drops: () => true })
    const suspected = await audited(emptied, { audit: 'bloom' })
    expect(suspected).toMatchObject({ keys: [], audit: { recovered: 0, unproven: suspected.audit.suspects } })
    expect(suspected.audit.suspects).toBeGreaterThan(20)
  })

  it('prove nothing where an address has the digits of hex in their low bytes only', async () => {
    const wide = (address: string) => `${address.slice(0, -1)}${String.fromCharCode(address.charCodeAt(address.length - 1) + 0x100)}`
    const chain = await start({ root: noRoot, receiptLogs: (log) => [{ ...log, address: wide(log.address) }] })
    const { audit } = await audited(chain, { audit: 'receipts' })
    expect(audit).toMatchObject({ recovered: 0, unproven: HEAD + 1, reasons: { "the receipts do not have the header's bloom": HEAD + 1 } })
  })

  it('prove nothing where a number is missing', async () => {
    // The bloom does not tell, since another log of the block has the same address and topics.
    const twin = (log: WireLog) => ({ ...log, address: tokens[0], topics: [TRANSFER] })
    const chain = await start({
      root: noRoot,
      gives: (log) => (log.logIndex === '0x2' ? [] : [twin(log)]),
      receiptLogs: (log) => (log.logIndex === '0x2' ? [] : [twin(log)]),
      bloom: () => new BloomBuilder().of([{ address: tokens[0] as string, topics: [TRANSFER] }]),
    })
    const { audit } = await audited(chain, { audit: 'receipts', topics: [] })
    expect(audit).toMatchObject({ unproven: HEAD + 1, reasons: { 'the logs of its receipts are not numbered from 0 on without a gap': HEAD + 1 } })
  })

  it('prove nothing where what the node gave differs', async () => {
    const chain = await start({ root: noRoot, receiptLogs: (log) => [{ ...log, data: '0x02' }] })
    const { audit } = await audited(chain, { audit: 'receipts' })
    expect(audit.reasons).toEqual({ 'the logs that the node gave differ from those of its receipts': audit.unproven })
    expect(audit.unproven).toBeGreaterThan(20)
  })

  it('do not fail the audit where blooms say nothing, and hide no log', async () => {
    for (const [options, reason] of [
      [{ chainId: 999, root: noRoot }, 'Hyperliquid leaves logs of system transactions out of its blooms'],
      [{ bloom: () => '0x', root: noRoot }, 'the header has no logs bloom'],
      [{ bloom: () => zero, root: noRoot }, 'the bloom of the header is empty'],
    ] as const) {
      const chain = await start({ ...options, receiptLogs: (log) => (log.logIndex === '0x4' ? [] : [log]) })
      const { keys, audit } = await audited(chain, { audit: 'receipts' })
      expect(keys).toEqual(rightKeys(chain))
      expect(audit).toMatchObject({ recovered: 0, unproven: HEAD + 1, reasons: { [reason]: HEAD + 1 } })
    }
  })
})

describe('receipts', () => {
  it('prove nothing on chains without usable blooms or roots', async () => {
    const chain = await start({ chainId: 324, bloom: () => zero, root: noRoot, drops: () => true })
    const { keys, audit } = await audited(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain))
    expect(audit).toMatchObject({
      unproven: HEAD + 1,
      reasons: { 'zkSync Era had no blooms until August 2024, and nodes fill in those of older blocks later': HEAD + 1 },
    })
  })

  it('that are refused for many suspects reject the iteration, and nothing else', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled))
    const chain = await startLogChain({
      head: 3000,
      drops: () => true,
      answer: (method) => (method === 'eth_getBlockReceipts' ? { error: { code: -32000, message: 'execution aborted: broken' } } : undefined),
    })
    await expect(audited(chain, { audit: 'bloom' })).rejects.toThrow('execution aborted: broken')
    expect(unhandled).toEqual([])
    expect(chain.calls.eth_getBlockReceipts).toBeLessThan(400)
  })

  it('that come one by one are not waited for where the node has dropped a transaction', async () => {
    const chain: LogChain = await start({
      answer(method, [hash]) {
        if (method === 'eth_getBlockReceipts') return { error: { code: -32601, message: `the method ${method} does not exist` } }
        if (method !== 'eth_getTransactionReceipt') return undefined
        const log = chain.logs(0, HEAD).find(({ transactionHash }) => transactionHash === hash) as WireLog
        if (Number(log.blockNumber) === 5 && log.logIndex === '0x2') return { result: null }
        return { result: { ...log, logsBloom: zero, status: '0x1', cumulativeGasUsed: '0x5208', logs: [log] } }
      },
    })
    // With a deadline that no test waits for.
    const client = createClient(chain.url, { deadlineMs: 3_600_000 })
    onTestFinished(() => client.close())
    const run = async () => {
      for await (const _ of getLogs(client, { address: tokens as `0x${string}`[], from: 5, to: 5, audit: 'receipts' }));
    }
    await expect(run()).rejects.toThrow(/^block 5 has 5 transactions, but 4 receipts/)
  })

  it('of blocks with an empty bloom are not fetched, whatever the filter', async () => {
    const chain = await start({ logs: (block) => (block % 10 === 0 ? 2 : 0) })
    const { audit } = await audited(chain, { audit: 'bloom', address: tokens as `0x${string}`[], topics: [] })
    expect(audit).toMatchObject({ suspects: 0, fetched: 0, unproven: 0 })
    const client = createClient(chain.url)
    onTestFinished(() => client.close())
    const all = getLogs(client, { from: 0n, to: 'latest', audit: 'bloom' })
    for await (const _ of all);
    expect(all.audit).toMatchObject({ suspects: 0, fetched: 0, unproven: 0 })
    expect(chain.calls.eth_getBlockReceipts).toBe(undefined)
  })
})

describe('the receipts root', () => {
  it('shows that the data of a log was changed, also where the node gives the same', async () => {
    const chain = await start({ gives: withOtherData, receiptLogs: withOtherData })
    const { audit } = await audited(chain, { audit: 'receipts' })
    expect(audit).toMatchObject({ recovered: 0, unproven: HEAD + 1, reasons: { [ROOT]: HEAD + 1 } })
  })

  it('that does not fit leaves the logs that the node gave as they are, and hides none', async () => {
    const chain = await start({ receiptLogs: withOtherData })
    const { keys, audit } = await audited(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain))
    expect(audit).toMatchObject({ recovered: 0, unproven: HEAD + 1, reasons: { [ROOT]: HEAD + 1 } })
    const partial = await start({ receiptLogs: withOtherData, drops: ({ logIndex }) => logIndex === '0x1' })
    expect((await audited(partial, { audit: 'receipts' })).keys).toEqual(rightKeys(chain))
  })

  it('shows it in the receipts of suspects, and of differences, too', async () => {
    const chain = await start({ drops: () => true, receiptLogs: withOtherData })
    const suspected = await audited(chain, { audit: 'bloom' })
    expect(suspected.audit.reasons).toEqual({ [ROOT]: suspected.audit.suspects })
    const liars = await Promise.all([start({ gives: withOtherData, receiptLogs: withOtherData }), start({ receiptLogs: withOtherData })])
    const { audit } = await audited(liars, { audit: 'peer', address: tokens as `0x${string}`[], topics: [] })
    expect(audit.suspects).toBeGreaterThan(20)
    expect(audit.reasons).toEqual({ [ROOT]: audit.suspects })
  })

  it('shows that a log is not of its transaction', async () => {
    const chain = await start({ receiptLogs: (log) => [{ ...log, transactionHash: anotherWord }] })
    expect((await audited(chain, { audit: 'receipts' })).audit.reasons).toEqual({ [ROOT]: HEAD + 1 })
  })

  it('is not replaced by the bloom where a receipt lacks a field', async () => {
    const chain = await start({ drops: () => true, receiptLogs: withOtherData, receipt: ({ cumulativeGasUsed: _, ...receipt }) => receipt })
    expect((await audited(chain, { audit: 'receipts' })).audit.reasons).toEqual({ [ROOT]: HEAD + 1 })
  })

  it('proves which data is right', async () => {
    const chain = await start({ gives: withOtherData })
    const { keys, audit } = await audited(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain))
    expect(audit).toMatchObject({ unproven: 0, recovered: rightKeys(chain).filter((key) => key.split('/')[1] === '2').length })
  })

  it.each([{ chainId: 324, bloom: () => zero }, { bloom: () => '0x' }, { chainId: 137 }])('proves logs without a usable bloom: %j', async (options) => {
    const chain = await start({ ...options, drops: ({ logIndex }) => logIndex === '0x1' })
    const { keys, audit } = await audited(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain))
    expect(audit).toMatchObject({ unproven: 0, reasons: {} })
  })

  it.each(['receipts', 'bloom'] as const)('that does not fit is followed by a request to another endpoint: %s', async (audit) => {
    let liar: number | undefined
    const named = (name: number) =>
      start({
        drops: () => true,
        receiptLogs(log) {
          liar ??= name
          return liar === name ? withOtherData(log) : [log]
        },
      })
    const chains = [await named(0), await named(1)] as const
    const proven = await audited(chains, { audit })
    expect(proven.keys).toEqual(rightKeys(chains[0]))
    expect(proven.audit).toMatchObject({ unproven: 0 })
    expect(liar).toBeDefined()
  })

  it.each<[string, Partial<LogChainOptions>]>([
    ['has none', { root: () => undefined }],
    ['has that of no receipts', { root: () => '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421' }],
    ['is of a chain with other headers', { chainId: 1285, root: () => anotherWord }],
  ])('leaves the proof to the bloom where the header %s', async (_, options) => {
    const chain = await start(options)
    const { audit } = await audited(chain, { audit: 'receipts' })
    expect(audit).toMatchObject({ fetched: HEAD + 1, unproven: 0 })
  })
})

describe('logs of a block', () => {
  it('by two forks are not taken for those of one', async () => {
    const chain = await start({ gives: (log) => [log.logIndex === '0x0' ? log : { ...log, blockHash: anotherWord }] })
    for (const audit of ['none', 'bloom', 'receipts'] as const)
      await expect(audited(chain, { audit })).rejects.toThrow(/^block \d+: its logs are those of two blocks, 0xb\S+ and 0xd+$/)
  })

  it('that come twice, and differ, are requested again', async () => {
    const liar = await start({ gives: (log) => [{ ...log, data: '0x01' }, log] })
    await expect(audited(liar, { audit: 'none' })).rejects.toThrow('block 1: log 0 came twice, and differs')
    expect(liar.calls.eth_getLogs).toBe(6)
    const honest = await start()
    expect((await audited([liar, honest], { audit: 'none' })).keys).toEqual(rightKeys(honest))
  })

  it('that two endpoints give with different data are resolved by receipts', async () => {
    const liar = await start({ gives: (log) => [{ ...log, data: '0x01' }] })
    const { audit } = await audited([liar, await start()], { audit: 'peer' })
    expect(audit.suspects).toBeGreaterThan(20)
    expect(audit.fetched).toBe(audit.suspects)
  })

  it('in parts of a range are compared with those of the other endpoint', async () => {
    const range = { most: 7, says: () => ({ message: 'query exceeds max block range 7' }) }
    const liar = await start({ range, drops: ({ blockNumber }) => Number(blockNumber) % 3 === 0 })
    const honest = await start({ range })
    const { keys, audit } = await audited([liar, honest], { audit: 'peer' })
    expect(keys).toEqual(rightKeys(honest))
    expect(audit).toMatchObject({ blocks: HEAD + 1, unproven: 0 })
  })

  it.each([{ address: null }, { topics: null }, { topics: [null] }, { data: null }, { transactionHash: null }])(
    'with %j are requested elsewhere',
    async (change) => {
      const liar = await start({ gives: (log) => [{ ...log, ...change }] })
      await expect(audited(liar, { audit: 'none' })).rejects.toMatchObject({ kind: 'integrity' })
      const honest = await start()
      expect((await audited([liar, honest], { audit: 'none' })).keys).toEqual(rightKeys(honest))
    },
  )
})

describe('logs that a block does not have', () => {
  const inBlock5 = ({ blockNumber }: WireLog) => blockNumber === '0x5'
  const beside = (log: WireLog) => (inBlock5(log) && log.logIndex === '0x2' ? [log, { ...log, logIndex: '0x9' }] : [log])
  const ofAnother = (log: WireLog) => [inBlock5(log) ? { ...log, blockHash: anotherWord } : log]

  it('are left out where the receipts have the root', async () => {
    const chain = await start({ gives: beside })
    const { keys, audit } = await audited(chain, { audit: 'receipts' })
    expect(keys).toEqual(rightKeys(chain))
    expect(audit).toMatchObject({ recovered: 0, discarded: 1, unproven: 0 })
  })

  it('reject the iteration where only the bloom speaks against them', async () => {
    const chain = await start({ gives: beside, root: noRoot })
    await expect(audited(chain, { audit: 'receipts' })).rejects.toThrow('block 5: log 9 was given, but is not in the receipts of the block')
  })

  it.each(['bloom', 'receipts'] as const)('since they are of one that was replaced, are replaced, too: %s', async (audit) => {
    const chain = await start({ gives: ofAnother })
    const many = chain.logs(5, 5, filter).length
    expect(await audited(chain, { audit })).toMatchObject({ keys: rightKeys(chain), audit: { recovered: many, discarded: many, unproven: 0 } })
  })

  it.each<[string, Partial<LogChainOptions>]>([
    ['prove nothing', { receiptLogs: (log) => [{ ...log, logIndex: null }] }],
    ['are not available', { answer: (method) => (method.includes('Receipt') ? { error: { code: -32601, message: 'method not found' } } : undefined) }],
  ])('since they are of one that was replaced, reject the iteration where the receipts %s', async (_, options) => {
    const chain = await start({ gives: ofAnother, ...options })
    await expect(audited(chain, { audit: 'bloom' })).rejects.toThrow(
      /^block 5 came as 0xb\w+, but its logs as those of 0xd+: the chain was reorganised in between/,
    )
  })
})

describe('a second endpoint', () => {
  it('that has dropped old blocks leaves the others proven', async () => {
    const second = await startLogChain({
      head: 2000,
      answer(method, [given]) {
        if (method !== 'eth_getLogs' || Number((given as { fromBlock: string }).fromBlock) >= 1400) return undefined
        return { error: { code: 4444, message: 'pruned history unavailable' } }
      },
    })
    const first = await startLogChain({ head: 2000, drops: ({ blockNumber, logIndex }) => Number(blockNumber) % 100 === 50 && logIndex === '0x1' })
    const { audit } = await audited([first, second], { audit: 'peer', address: tokens as `0x${string}`[], topics: [], to: 2000n })
    expect(audit).toMatchObject({ blocks: 2001, unproven: 1400, reasons: { 'no second endpoint answered': 1400 } })
    expect(audit.recovered).toBe(6)
  })
})

describe('a node whose head moves', () => {
  it.each(['none', 'bloom', 'receipts'] as const)('back after the start is asked again, not taken for a reorganisation: audit %s', async (audit) => {
    let head = HEAD
    const chain = await start({
      answer: (method, [block]) => {
        if (method === 'eth_getLogs') head = HEAD - 3
        if (method === 'eth_blockNumber') return { result: `0x${head.toString(16)}` }
        if (!/^eth_getBlock(?:ByNumber|Receipts)$/.test(method) || !(Number(block) > head)) return undefined
        // It has caught up when it is asked again.
        head = HEAD
        return { result: null }
      },
    })
    expect((await audited(chain, { audit })).keys).toEqual(rightKeys(chain))
  })
})

describe('a report', () => {
  it('names its level from the start', async () => {
    const client = createClient('http://127.0.0.1:1')
    onTestFinished(() => client.close())
    expect(getLogs(client, { ...filter, from: 0n, to: 1n, audit: 'receipts' }).audit).toMatchObject({ level: 'receipts', blocks: 0 })
  })
})
