/*
 * A wallet's tokens, from the REST API: all pages, with the balance in units of the token.
 *
 *     npm install hexline
 *     npm pkg set type=module
 *     HEXLINE_DATA_URL=https://… HEXLINE_API_KEY=… node wallet-tokens.ts ADDRESS
 *
 * (`node` from 22.18; before, `npx tsx`.) To try it without an account, run `npx hexline sandbox`,
 * which prints both variables. It prints a line for each token:
 *
 *     ETH    10000
 *     USDC   250.5     0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48
 */
import { getWalletTokens } from 'hexline/rest'

const [address] = process.argv.slice(2)
const { HEXLINE_DATA_URL: dataUrl, HEXLINE_API_KEY: apiKey } = process.env

const stop = new AbortController()
process.once('SIGINT', () => stop.abort()) // a second Ctrl-C ends it at once

/** An exact number of units, such as `250.5`; the smallest unit if the token has no decimals. */
function units(balance: bigint, decimals: number): string {
  const digits = String(balance).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const rest = digits.slice(whole.length).replace(/0+$/, '')
  return rest === '' ? whole : `${whole}.${rest}`
}

try {
  if (address === undefined || dataUrl === undefined || apiKey === undefined) throw new Error('needs ADDRESS, HEXLINE_DATA_URL and HEXLINE_API_KEY')
  for await (const token of getWalletTokens({ dataUrl, apiKey }, { address, chain: 'eth' }, { signal: stop.signal })) {
    const { symbol, balance, decimals, native_token, token_address } = token
    if (balance === null) continue
    console.log(`${(symbol ?? '?').padEnd(6)} ${units(balance, decimals ?? 0)}`.padEnd(24), native_token === true ? '' : token_address)
  }
} catch (error) {
  if (!stop.signal.aborted) console.error(String(error))
  process.exitCode = stop.signal.aborted ? 130 : 1
}
