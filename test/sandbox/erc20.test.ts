import { describe, expect, it, test } from 'vitest'
import { balanceOf, metadataOf, textOf, tokensOf } from '../../src/sandbox/erc20.ts'
import { type Answer, clientOf, each, failed, serve } from '../support/server.ts'

const word = (value: bigint | number) => value.toString(16).padStart(64, '0')
const hexOf = (text: string) => Buffer.from(text).toString('hex')
/** An ABI string, as `name()` returns it. */
const abiString = (text: string) => `0x${word(32)}${word(Buffer.byteLength(text))}${hexOf(text).padEnd(64, '0')}` as const
const TOKEN = `0x${'aa'.repeat(20)}` as const
const WALLET = '0xBBbbBBbBbBBbbBBbbBbbbBbBBbbBBbbbbbBbbBBb' as const

describe('a string of a contract', () => {
  it.each<[string, `0x${string}` | null, string | null]>([
    ['an ABI string', abiString('Tether €'), 'Tether €'],
    ['an empty ABI string', abiString(''), ''],
    ['32 bytes padded with zeros', `0x${hexOf('MKR').padEnd(64, '0')}`, 'MKR'],
    ['32 bytes without a zero', `0x${hexOf('x'.repeat(32))}`, 'x'.repeat(32)],
    ['nothing', '0x', null],
    ['no answer', null, null],
    ['a length beyond the bytes', `0x${word(32)}${word(33)}${hexOf('abc').padEnd(64, '0')}`, null],
    ['a string at an unusual place', `0x${word(64)}${word(3)}${hexOf('abc').padEnd(64, '0')}`, null],
    ['bytes that are not UTF-8', `0x${word(32)}${word(1)}${'ff'.padEnd(64, '0')}`, null],
  ])('%s', (_, output, text) => {
    expect(textOf(output)).toBe(text)
  })
})

/** A client of a contract that answers each call by the first four bytes of its data. */
async function contract(outputs: Record<string, string>) {
  const answer: Answer = each((entry) => {
    const output = outputs[(entry.params[0] as { data: string }).data.slice(0, 10)]
    return output === undefined ? failed(entry, 3, 'execution reverted') : { jsonrpc: '2.0', id: entry.id, result: output }
  })
  return clientOf((await serve(answer)).url)
}

describe('metadata', () => {
  it.each<[string, Record<string, string>, object]>([
    [
      'of a token',
      { '0x06fdde03': abiString('Tether'), '0x95d89b41': abiString('USDT'), '0x313ce567': `0x${word(6)}` },
      { name: 'Tether', symbol: 'USDT', decimals: 6 },
    ],
    ['of a token that reverts', {}, { name: null, symbol: null, decimals: null }],
    ['with impossible decimals', { '0x313ce567': `0x${word(256)}` }, { name: null, symbol: null, decimals: null }],
    ['with empty decimals', { '0x313ce567': '0x' }, { name: null, symbol: null, decimals: null }],
  ])('%s', async (_, outputs, expected) => {
    expect(await metadataOf(await contract(outputs), TOKEN, 1n)).toEqual(expected)
  })
})

test.each<[string, bigint | null]>([
  [`0x${word(2n ** 200n)}`, 2n ** 200n],
  [`0x${word(5)}${word(9)}`, 5n],
  ['0x', null],
])('the balance in %s is %s', async (output, balance) => {
  expect(await balanceOf(await contract({ '0x70a08231': output }), TOKEN, WALLET, 1n)).toBe(balance)
})

test('the balance of a contract that reverts is null; a failing node is an error', async () => {
  expect(await balanceOf(await contract({}), TOKEN, WALLET, 1n)).toBeNull()
  const server = await serve(each((entry) => failed(entry, -32601, 'method not found')))
  await expect(balanceOf(clientOf(server.url), TOKEN, WALLET, 1n)).rejects.toMatchObject({ kind: 'unsupported' })
})

test('the tokens of a wallet are those that logged a transfer from or to it, each once, without NFTs', async () => {
  const log = (address: string, topics: number, data = `0x${word(1)}`) => ({ address, topics: Array(topics).fill(`0x${word(1)}`), data })
  const server = await serve(
    each(({ id, params }) => ({
      jsonrpc: '2.0',
      id,
      result:
        (params[0] as { topics: unknown[] }).topics.length === 2
          ? [log(TOKEN, 3), log('0xc', 4, '0x')]
          : [log(`0x${'AA'.repeat(20)}`, 3), log('0xD', 3), log('0xe', 3, '0x')],
    })),
  )
  expect(await tokensOf(clientOf(server.url), WALLET, 7n)).toEqual([TOKEN, '0xd'])
  const filters = server.requests.flatMap(({ entries }) => entries.map(({ params }) => params[0]))
  const wallet = `0x${'0'.repeat(24)}${WALLET.slice(2).toLowerCase()}`
  expect(filters).toEqual([
    { fromBlock: '0x0', toBlock: '0x7', topics: [expect.stringMatching(/^0xddf252ad/), wallet] },
    { fromBlock: '0x0', toBlock: '0x7', topics: [expect.stringMatching(/^0xddf252ad/), null, wallet] },
  ])
})
