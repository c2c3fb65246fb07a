import { describe, expect, it } from 'vitest'
import { hexline } from '../support/command.ts'
import { ADDRESS, HASH } from '../support/rest-operations.ts'
import { type Answer, always, KEY, serveRest } from '../support/rest-server.ts'

/** Runs the command on a data group with this answer. */
async function run(answer: Answer, ...args: string[]) {
  const { url } = await serveRest(answer)
  return hexline(args, { env: { HEXLINE_DATA_URL: url, HEXLINE_API_KEY: KEY } })
}

describe('hexline tokens', () => {
  const cellsOf = async (record: object) => {
    const { code, stdout } = await run(always({ result: [record], cursor: null }), 'tokens', ADDRESS, '--lenient')
    expect(code).toBe(0)
    return stdout.split('\n')[1]?.split(/ {2,}/)
  }
  const token = { token_address: '0xa1', symbol: 'USDC', name: 'USD Coin', balance: '5', native_token: false }

  it.each<[string, object, string[]]>([
    ['the balance in units, if the service gives it', { ...token, balance_formatted: '0.05', usd_value: 1 }, ['USDC', '0.05', '1.00', 'USD Coin', '0xa1']],
    ['the raw balance otherwise', token, ['USDC', '5', '-', 'USD Coin', '0xa1']],
    ['a value of zero', { ...token, usd_value: 0 }, ['USDC', '5', '0.00', 'USD Coin', '0xa1']],
    ['a native coin without an address', { ...token, native_token: true }, ['USDC', '5', '-', 'USD Coin', 'native']],
  ])('shows %s', async (_, record, cells) => {
    expect(await cellsOf(record)).toEqual(cells)
  })
})

describe('hexline tx', () => {
  it.each([
    [[], 'its default chain'],
    [['--chain', 'base'], 'base'],
  ])('with %j, names the chain on which there is no such transaction', async (args, chain) => {
    const { code, stderr } = await run(always('', { status: 404 }), 'tx', HASH, ...args)
    expect(code).toBe(1)
    expect(stderr).toMatch(new RegExp(`^hexline: 127\\.0\\.0\\.1:\\d+ has no transaction with this hash on ${chain}\n$`))
  })
})
