import { Contract, getAddress, JsonRpcProvider } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startLogChain, TRANSFER, tokens } from '../../../support/log-chain.ts'
import { errorOf } from '../../../support/server.ts'

const address = tokens[0] as string
const limit = { most: 1000, says: () => ({ message: 'query exceeds max block range 1000' }) }

/** Few enough to compare them all. */
const logs = (block: number) => (block % 20 === 0 ? 5 : 0)

function providerOn<P extends JsonRpcProvider>(Provider: new (url: string) => P, url: string): P {
  const provider = new Provider(url)
  onTestFinished(() => provider.destroy())
  return provider
}

describe('getLogs', () => {
  it.each([
    ['of a range that the node refuses', 0, 9000],
    ['to the latest block', 4000, 'latest'],
    ['to a block beyond the head', 8000, 99_999],
    ['from a block beyond the head', 99_999, 100_099],
    ['of a range that the node takes', 100, 200],
    ['of one block', 20, 20],
  ])("%s gives what ethers' own gives of a node without limits", async (_, fromBlock, toBlock) => {
    const chain = await startLogChain({ head: 9000, range: limit, logs })
    const free = await startLogChain({ head: 9000, logs })
    const filter = { address, topics: [TRANSFER], fromBlock, toBlock }
    const [ours, theirs] = await Promise.all([providerOn(HexlineProvider, chain.url).getLogs(filter), providerOn(JsonRpcProvider, free.url).getLogs(filter)])
    expect(ours.map((log) => log.toJSON())).toEqual(theirs.map((log) => log.toJSON()))
    expect(ours[0]?.constructor).toBe(theirs[0]?.constructor)
  })

  it.each([{ address: [] }, { topics: [[]] }, { topics: [[], null, []] }])('takes empty lists for any, as nodes do: %j', async (any) => {
    const chain = await startLogChain({ head: 20_000, logs })
    const found = await providerOn(HexlineProvider, chain.url).getLogs({ fromBlock: 0, toBlock: 'latest', ...any } as never)
    expect(found).toHaveLength(chain.logs(0, 20_000).length)
  })

  it.each([
    ['a range that begins beyond the head', { fromBlock: 99_999 }],
    ['a range that begins with a hash', { fromBlock: `0x${'ab'.repeat(32)}` }],
    ['a range that ends with a hash', { fromBlock: 0, toBlock: `0x${'ab'.repeat(32)}` }],
  ])("gives what the node says of %s, as ethers' own", async (_, filter) => {
    const answer = (method: string) => (method === 'eth_getLogs' ? { error: { code: -32602, message: 'no such range' } } : undefined)
    const chain = await startLogChain({ head: 9000, logs, answer })
    const said = (Provider: new (url: string) => JsonRpcProvider) => errorOf(providerOn(Provider, chain.url).getLogs(filter)) as Promise<{ error?: unknown }>
    const [ours, theirs] = [await said(HexlineProvider), await said(JsonRpcProvider)]
    expect(ours).toMatchObject({ code: 'UNKNOWN_ERROR', error: { code: -32602, message: 'no such range' } })
    expect(ours.error).toEqual(theirs.error)
  })

  it('takes a node that is behind when it is asked again for what it is', async () => {
    let asked = 0
    const chain = await startLogChain({
      head: 20_000,
      logs,
      answer: (method) => (method === 'eth_blockNumber' ? { result: asked++ === 0 ? '0x4e20' : '0x4e1f' } : undefined),
    })
    const provider = providerOn(HexlineProvider, chain.url)
    for (const toBlock of ['latest', 20_000]) {
      asked = 0
      expect(await provider.getLogs({ fromBlock: 0, toBlock })).toHaveLength(chain.logs(0, 20_000).length)
    }
  })

  it('asks once for what one call gives', async () => {
    const chain = await startLogChain({ head: 5000, logs: (block) => (block % 100 === 0 ? 1 : 0) })
    const logs = await providerOn(HexlineProvider, chain.url).getLogs({ fromBlock: 0, toBlock: 5000 })
    expect(logs).toHaveLength(51)
    expect(chain.calls.eth_getLogs).toBe(1)
  })

  it('is complete where the node leaves out what exceeds a number of results', async () => {
    const chain = await startLogChain({ head: 2000, cap: 1000 })
    const logs = await providerOn(HexlineProvider, chain.url).getLogs({ fromBlock: 0, toBlock: 2000 })
    expect(logs).toHaveLength(chain.logs(0, 2000).length)
  })

  it('lets a contract query millions of blocks', async () => {
    const chain = await startLogChain({
      head: 3_000_000,
      logs: (block) => (block % 50_000 === 1 ? 8 : 0),
      range: { most: 500_000, says: () => ({ message: 'block range is too wide' }) },
    })
    const provider = providerOn(HexlineProvider, chain.url)
    const contract = new Contract(address, ['event Transfer(address indexed from, address indexed to, uint256 value)'], provider)
    const events = await contract.queryFilter('Transfer', 0, 'latest')
    expect(events.map(({ blockNumber, index }) => `${blockNumber} ${index}`)).toEqual(
      chain.logs(0, 3_000_000, { address, topics: [TRANSFER] }).map((log) => `${Number(log.blockNumber)} ${Number(log.logIndex)}`),
    )
  })

  it('fails with the error of ethers where the node refuses for another reason', async () => {
    const chain = await startLogChain({
      head: 90_000,
      answer: (method) => (method === 'eth_getLogs' ? { error: { code: -32000, message: 'no logs today' } } : undefined),
    })
    await expect(providerOn(HexlineProvider, chain.url).getLogs({ fromBlock: 0, toBlock: 90_000 })).rejects.toMatchObject({ code: 'UNKNOWN_ERROR' })
  })

  it('says in its error what it was asked for', async () => {
    const answer = (method: string) => (method === 'eth_getLogs' ? { error: { code: -32602, message: 'no' } } : undefined)
    const { url } = await startLogChain({ head: 90_000, logs, answer })
    const filter = { address, fromBlock: 0, toBlock: 50_000 }
    expect(await errorOf(providerOn(HexlineProvider, url).getLogs(filter))).toMatchObject({
      payload: { method: 'eth_getLogs', params: [{ address: getAddress(address), fromBlock: '0x0', toBlock: '0xc350' }] },
    })
  })

  it('ends when the provider is destroyed', async () => {
    const chain = await startLogChain({ head: 90_000, range: { most: 10, says: () => ({ message: 'query exceeds max block range 10' }) } })
    const provider = providerOn(HexlineProvider, chain.url)
    const logs = provider.getLogs({ fromBlock: 0, toBlock: 90_000 })
    const ended = expect(logs).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' })
    while (chain.ranges.length < 20) await new Promise((resolve) => setImmediate(resolve))
    provider.destroy()
    await ended
  })
})
