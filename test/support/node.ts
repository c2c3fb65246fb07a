import { type Answer, type Entry, each, failed, right, type TestServer } from './server.ts'

export interface NodeOptions {
  /** Default 1. */
  readonly chain?: number
  /** Number of the newest block. Default 100. */
  readonly head?: () => number
  /** The reply object to send in place of the right one; undefined for the right one. */
  readonly answer?: (entry: Entry) => object | undefined
}

/** Answers like a node of a chain, and other methods like `honest`. */
export function node({ chain = 1, head = () => 100, answer = () => undefined }: NodeOptions = {}): Answer {
  const resultOf = ({ method, params }: Entry): unknown => {
    if (method === 'eth_chainId') return hex(chain)
    if (method === 'eth_blockNumber') return hex(head())
    if (method === 'eth_getBlockByNumber') {
      const number = params[0] === 'latest' ? head() : Number(params[0])
      return number > head() ? null : { number: hex(number) }
    }
    return undefined
  }
  return each((entry) => {
    const own = answer(entry)
    if (own !== undefined) return own
    const number = Number(entry.params[1])
    if (entry.method === 'eth_getBalance' && number > head()) return failed(entry, -32000, 'header not found')
    const result = resultOf(entry)
    return result === undefined ? right(entry) : { jsonrpc: '2.0', id: entry.id, result }
  })
}

export function hex(number: number): string {
  return `0x${number.toString(16)}`
}

/**
 * The calls that a server received, without hexline's requests for the chain id, and for the newest
 * block in the same POST.
 */
export function calls(server: TestServer): string[] {
  return server.requests.flatMap(({ entries }) => {
    const methods = entries.map(({ method }) => method)
    return methods.includes('eth_chainId') ? methods.filter((method) => method !== 'eth_chainId' && method !== 'eth_blockNumber') : methods
  })
}
