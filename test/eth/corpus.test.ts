import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, CodecError, createClient, decodeResult, encodeArguments, MalformedReplyError, RpcError } from '../../src/index.ts'
import { hasCorpus, noCorpus, type Pair, readBlocks, readPairs } from '../support/corpus.ts'
import { type ReplayNode, startReplayNode } from '../support/eth-replay.ts'

/*
 * The table of facts.md once more, with the types of design.md: which fields of which object are
 * decoded, and to what. It is stated here on its own, so that a field which the code forgets, or
 * decodes as something else, is seen. A field that is not listed stays as sent, whatever it is.
 */
const objects: Record<string, Record<string, string>> = {
  Block: {
    bigint: 'number difficulty totalDifficulty size gasLimit gasUsed timestamp baseFeePerGas blobGasUsed excessBlobGas slotNumber',
    'Transaction[]': 'transactions',
    'Withdrawal[]': 'withdrawals',
  },
  Withdrawal: { number: 'index validatorIndex', bigint: 'amount' },
  Transaction: {
    bigint: 'blockNumber blockTimestamp gas value gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas v',
    number: 'transactionIndex type nonce chainId yParity',
    'Authorization[]': 'authorizationList',
  },
  Authorization: { number: 'chainId nonce yParity' },
  Receipt: {
    bigint: 'blockNumber cumulativeGasUsed gasUsed effectiveGasPrice blobGasUsed blobGasPrice l1Fee l1GasPrice l1GasUsed l1BlockNumber gasUsedForL1',
    number: 'transactionIndex type status depositNonce depositReceiptVersion',
    'Log[]': 'logs',
  },
  Log: { bigint: 'blockNumber blockTimestamp', number: 'transactionIndex logIndex' },
  Proof: { bigint: 'balance', number: 'nonce', 'StorageProof[]': 'storageProof' },
  StorageProof: { bigint: 'value' },
  FeeHistory: { bigint: 'oldestBlock', 'bigint[]': 'baseFeePerGas baseFeePerBlobGas', 'bigint[][]': 'reward' },
  AccessListResult: { bigint: 'gasUsed' },
}

const results: Record<string, string> = {
  eth_blockNumber: 'bigint',
  eth_call: 'as sent',
  eth_chainId: 'number',
  eth_createAccessList: 'AccessListResult',
  eth_estimateGas: 'bigint',
  eth_feeHistory: 'FeeHistory',
  eth_gasPrice: 'bigint',
  eth_getBalance: 'bigint',
  eth_getBlockByHash: 'Block',
  eth_getBlockByNumber: 'Block',
  eth_getBlockTransactionCountByHash: 'number',
  eth_getBlockTransactionCountByNumber: 'number',
  eth_getBlockReceipts: 'Receipt[]',
  eth_getCode: 'as sent',
  eth_getLogs: 'Log[]',
  eth_getProof: 'Proof',
  eth_getStorageAt: 'as sent',
  eth_getTransactionByHash: 'Transaction',
  eth_getTransactionByBlockHashAndIndex: 'Transaction',
  eth_getTransactionByBlockNumberAndIndex: 'Transaction',
  eth_getTransactionCount: 'number',
  eth_getTransactionReceipt: 'Receipt',
  eth_getUncleByBlockHashAndIndex: 'Block',
  eth_getUncleByBlockNumberAndIndex: 'Block',
  eth_getUncleCountByBlockHash: 'number',
  eth_getUncleCountByBlockNumber: 'number',
  eth_maxPriorityFeePerGas: 'bigint',
  eth_sendRawTransaction: 'as sent',
}

/** Fields of the table that occur in no reply of the corpus. */
const NEVER_MET = ['Block.slotNumber', 'Receipt.depositNonce', 'Receipt.depositReceiptVersion']

/**
 * Invalid params of the official tests and some recorded calls, which `call` refuses before a byte
 * is sent.
 */
const INVALID_ON_PURPOSE: Record<string, string> = {
  'eth_getStorageAt/get-storage-invalid-key-too-large': 'a storage key of more than 32 bytes',
  'eth_getStorageAt/get-storage-invalid-key': 'a storage key that is not hex',
  'mainnet/eth_getStorageAt/test_09': 'a storage key that is not hex',
  'mainnet/eth_getProof/test_26': 'an address in mixed case with a wrong checksum',
}

/** What is not as it should be in `decoded`, which came from `wire`; path by path. */
function differences(wire: unknown, decoded: unknown, type: string, path = 'result', met?: Set<string>): string[] {
  if (wire === null || type === 'as sent') return JSON.stringify(decoded) === JSON.stringify(wire) ? [] : [`${path}: not as sent`]
  if (type === 'bigint' || type === 'number') {
    if (typeof decoded !== type) return [`${path}: a ${typeof decoded}, not a ${type}`]
    return BigInt(decoded as bigint | number) === BigInt(wire as string) ? [] : [`${path}: ${decoded}, not ${wire}`]
  }
  if (type.endsWith('[]')) {
    if (!Array.isArray(decoded) || !Array.isArray(wire) || decoded.length !== wire.length) return [`${path}: not the list that was sent`]
    return wire.flatMap((item, i) => differences(item, decoded[i], type.slice(0, -2), `${path}[${i}]`, met))
  }
  // A block that was requested without transactions has their hashes.
  if (type === 'Transaction' && typeof wire === 'string') return differences(wire, decoded, 'as sent', path)
  const [before, after] = [wire as Record<string, unknown>, decoded as Record<string, unknown>]
  const keys = [Object.keys(before), Object.keys(after)].map((each) => each.sort().join(' '))
  if (keys[0] !== keys[1]) return [`${path}: has the fields ${keys[1]}, not ${keys[0]}`]
  return Object.keys(before).flatMap((key) => {
    const fieldType = Object.entries(objects[type] ?? {}).find(([, names]) => names.split(' ').includes(key))?.[0] ?? 'as sent'
    if (fieldType !== 'as sent' && before[key] !== null) met?.add(`${type}.${key}`)
    return differences(before[key], after[key], fieldType, `${path}.${key}`, met)
  })
}

const QUANTITIES_OF_PARAMS =
  'gas gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas value nonce type chainId yParity v fromBlock toBlock blockNumber'.split(' ')

/**
 * Whether the sent value means the same as the given one. Only quantities may be spelt differently.
 */
function meansTheSame(given: unknown, sent: unknown, key: string): boolean {
  if (typeof given === 'string' && typeof sent === 'string') {
    if (given === sent) return true
    return (QUANTITIES_OF_PARAMS.includes(key) || key === 'quantity') && given.startsWith('0x') && BigInt(given) === BigInt(sent)
  }
  if (typeof given !== 'object' || given === null || typeof sent !== 'object' || sent === null) return Object.is(given, sent)
  const names = Object.keys(given)
  if (names.length !== Object.keys(sent).length) return false
  return names.every((name) => meansTheSame((given as Record<string, unknown>)[name], (sent as Record<string, unknown>)[name], name))
}

/** Positions of top-level parameters that are quantities: storage keys, indexes, block numbers. */
function keyOf(method: string, position: number, value: unknown): string {
  if (method === 'eth_getProof' && position === 1) return 'keys'
  return typeof value === 'string' && (value.length <= 18 || (method === 'eth_getStorageAt' && position === 1)) ? 'quantity' : 'data'
}

const pairs = readPairs()
const blocks = readBlocks()
const good = pairs.filter((pair) => 'result' in pair.response)
const failed = pairs.filter((pair) => 'error' in pair.response && !pair.anyError)
const unknown = pairs.filter((pair) => pair.anyError)

if (!hasCorpus) {
  test.skip(noCorpus)
  console.warn(noCorpus)
}

describe.skipIf(!hasCorpus)('replies of real nodes', () => {
  test('are of the 28 methods, and of 22 of them at least', () => {
    expect(pairs.length).toBeGreaterThan(200)
    expect(good.length + failed.length + unknown.length).toBe(pairs.length)
    const names = new Set(pairs.map((pair) => pair.method))
    expect([...names].filter((name) => !(name in results))).toEqual([])
    expect(names.size).toBeGreaterThanOrEqual(22)
  })

  describe('are decoded with nothing lost, added or changed', () => {
    for (const { name, method, request, response } of good) {
      test(name, () => {
        const decoded = decodeResult(method, structuredClone(response.result), request.params ?? [])
        expect(differences(response.result, decoded, results[method] as string)).toEqual([])
      })
    }

    for (const { name, block, receipts, uncles } of blocks) {
      test(`block ${name}`, () => {
        const decoded = decodeResult('eth_getBlockByHash', structuredClone(block), [null, true])
        expect(differences(block, decoded, 'Block')).toEqual([])
      })

      test(`block ${name}, with the hashes of its transactions`, () => {
        const short = { ...block, transactions: block.transactions.map((each) => (each as { hash: string }).hash) }
        const decoded = decodeResult('eth_getBlockByNumber', structuredClone(short), [null, false])
        expect(differences(short, decoded, 'Block')).toEqual([])
      })

      test(`block ${name} is refused where its hashes were asked for, and the other way round`, () => {
        if (block.transactions.length === 0) return
        expect(() => decodeResult('eth_getBlockByHash', structuredClone(block), [null, false])).toThrow(/^transactions\[0\]: expected a transaction hash/)
        const short = { ...block, transactions: block.transactions.map((each) => (each as { hash: string }).hash) }
        expect(() => decodeResult('eth_getBlockByHash', short, [null, true])).toThrow(/^transactions\[0\]: expected a transaction,/)
      })

      if (receipts) {
        test(`receipts of block ${name}`, () => {
          const decoded = decodeResult('eth_getBlockReceipts', structuredClone(receipts), [])
          expect(differences(receipts, decoded, 'Receipt[]')).toEqual([])
        })
      }

      if (uncles) {
        test(`uncles of block ${name}`, () => {
          for (const each of uncles) {
            const decoded = decodeResult('eth_getUncleByBlockHashAndIndex', structuredClone(each), [])
            expect(differences(each, decoded, 'Block')).toEqual([])
          }
        })
      }
    }

    test('and every decoded field occurs at least once, except for a few', () => {
      const met = new Set<string>()
      for (const { response, method } of good) differences(response.result, structuredClone(response.result), results[method] as string, '', met)
      for (const { block, receipts } of blocks) {
        differences(block, structuredClone(block), 'Block', '', met)
        differences(receipts ?? [], structuredClone(receipts ?? []), 'Receipt[]', '', met)
      }
      const all = Object.entries(objects).flatMap(([type, fields]) =>
        Object.values(fields).flatMap((names) => names.split(' ').map((name) => `${type}.${name}`)),
      )
      expect(all.filter((field) => !met.has(field)).sort()).toEqual(NEVER_MET)
    })
  })

  describe('over HTTP', () => {
    let node: ReplayNode
    let client: Client
    let call: (method: string, ...params: unknown[]) => Promise<unknown>

    beforeAll(async () => {
      node = await startReplayNode()
      client = createClient(node.url, { retry: false })
      call = client.call as typeof call
    })

    afterAll(async () => {
      await client.close()
      await node.stop()
    })

    /** Makes the node answer as recorded; JSON of a parsed response is the response. */
    function replay({ response }: Pair) {
      node.response = response
    }

    describe('come through `call`, for the params as recorded', () => {
      for (const pair of good) {
        if (pair.name in INVALID_ON_PURPOSE) continue
        test(pair.name, async () => {
          const { method, request, response } = pair
          const given = request.params ?? []
          replay(pair)
          const decoded = await call(method, ...given)
          expect(differences(response.result, decoded, results[method] as string)).toEqual([])

          const { params } = node.received
          expect(node.received.method).toBe(method)
          for (const [i, value] of given.entries()) {
            expect(meansTheSame(value, params[i], keyOf(method, i, value)), `params[${i}]: ${JSON.stringify(params[i])?.slice(0, 300)}`).toBe(true)
          }
          expect(['[]', '["latest"]']).toContain(JSON.stringify(params.slice(given.length)))
        })
      }
    })

    describe('come through `request` unchanged', () => {
      for (const pair of good) {
        test(pair.name, async () => {
          replay(pair)
          expect(await client.request({ method: pair.method, params: pair.request.params ?? [] })).toEqual(pair.response.result)
          expect(node.received.params).toEqual(pair.request.params ?? [])
        })
      }
    })

    describe('that are errors become an RpcError with the same code, message and data', () => {
      test('there are some', () => {
        expect(failed.length).toBeGreaterThan(15)
      })

      for (const pair of failed) {
        const { error } = pair.response
        test(pair.name, async () => {
          replay(pair)
          const thrown = await client.request({ method: pair.method, params: pair.request.params ?? [] }).catch((caught: unknown) => caught)
          expect(thrown).toBeInstanceOf(RpcError)
          const { code, said, data, method } = thrown as RpcError
          expect({ code, said, data, method }).toEqual({ code: error?.code, said: error?.message, data: error?.data, method: pair.method })
        })

        if (pair.name in INVALID_ON_PURPOSE) continue
        test(`${pair.name}, through \`call\``, async () => {
          replay(pair)
          const rejected = { name: 'RpcError', code: error?.code, said: error?.message, data: error?.data }
          await expect(call(pair.method, ...(pair.request.params ?? []))).rejects.toMatchObject(rejected)
        })
      }
    })

    test.each(unknown)('$name, of which it is only known that it failed, has neither a result nor an error, and is malformed', async (pair) => {
      replay(pair)
      await expect(client.request({ method: pair.method, params: pair.request.params ?? [] })).rejects.toBeInstanceOf(MalformedReplyError)
    })
  })

  describe('to params that are invalid on purpose', () => {
    test.each(Object.entries(INVALID_ON_PURPOSE))('%s: %s is refused before it is sent', (name) => {
      const pair = pairs.find((each) => each.name === name) as Pair
      expect(() => encodeArguments(pair.method, pair.request.params ?? [])).toThrow(CodecError)
    })
  })
})

test('fields that the corpus lacks are decoded, too', () => {
  const block = { hash: '0x1', number: '0x1', transactions: [], slotNumber: '0xff' }
  expect(differences(block, decodeResult('eth_getBlockByNumber', structuredClone(block), ['0x1', true]), 'Block')).toEqual([])
  const receipt = { transactionHash: '0x1', depositNonce: '0xff', depositReceiptVersion: '0x1' }
  expect(differences(receipt, decodeResult('eth_getTransactionReceipt', structuredClone(receipt), ['0x1']), 'Receipt')).toEqual([])
})
