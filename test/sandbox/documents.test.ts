import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createClient } from 'hexline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chains } from '../../src/eth/chains.ts'
import { methods } from '../../src/eth/methods.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { openapi, validatorFor } from './ask.ts'
import { alice, deploy, mint, text, tokenCode, viemOn } from './contracts.ts'

let node: Sandbox
beforeAll(async () => {
  node = await startSandbox()
})
afterAll(() => node?.stop())

const file = (name: string) => fileURLToPath(new URL(`../../docs/api/${name}`, import.meta.url))

interface OpenRpc {
  readonly servers: readonly { readonly variables: { readonly chain: { readonly enum: readonly string[] } } }[]
  readonly methods: readonly {
    readonly name: string
    readonly params: readonly { readonly schema: object; readonly required: boolean }[]
    readonly result: { readonly schema: object }
  }[]
  readonly components: object
}
const openrpc: OpenRpc = JSON.parse(readFileSync(file('openrpc.json'), 'utf8'))

describe('openapi.yaml', () => {
  it('is valid OpenAPI 3.1, according to the linter', async () => {
    const { valid, errors } = await new Validator().validate(file('openapi.yaml'))
    expect([valid, errors]).toEqual([true, undefined])
  })

  it('has the seven operations, and every parameter of each', () => {
    const found = Object.entries(openapi.paths).map(([path, { get }]) => {
      const { parameters } = get as unknown as { parameters: { name?: string; $ref?: string }[] }
      return [path, parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1)?.toLowerCase())]
    })
    expect(Object.fromEntries(found)).toEqual({
      '/api/v2.2/wallets/{address}/tokens': [
        'address',
        'chain',
        'to_block',
        'token_addresses',
        'exclude_spam',
        'exclude_unverified_contracts',
        'cursor',
        'limit',
        'exclude_native',
      ],
      '/api/v2.2/transaction/{transaction_hash}': ['transaction_hash', 'chain', 'include'],
      '/nfts/transfers/collections/{collection_data_id_hash}': ['collection', 'limit', 'offset', 'cursor', 'wallet_whitelist', 'wallet_blacklist'],
      '/nfts/collections/{collection_data_id_hash}/tokens': ['collection', 'limit', 'offset', 'cursor'],
      '/collections/creators': ['limit', 'offset', 'cursor', 'creator_address'],
      '/nfts/transfers/wallets': ['limit', 'offset', 'cursor', 'wallet_addresses', 'collection_whitelist', 'collection_blacklist'],
      '/streams/evm': ['limit', 'cursor'],
    })
  })
})

describe('openapi.yaml matches the specification', () => {
  const pathItem = (path: string) => openapi.paths[path] as unknown as { servers: { url: string }[]; get: { parameters: { name: string; schema: object }[] } }

  it('each group has its own base address', () => {
    const bases = Object.keys(openapi.paths).map((path) => [path.split('/')[1], pathItem(path).servers?.map(({ url }) => url)])
    expect(bases).toEqual([
      ['api', ['{base_url}']],
      ['api', ['{base_url}']],
      ['nfts', ['{nft_base_url}']],
      ['nfts', ['{nft_base_url}']],
      ['collections', ['{nft_base_url}']],
      ['nfts', ['{nft_base_url}']],
      ['streams', ['{streams_base_url}']],
    ])
  })

  it('limit has a bound for streams only', () => {
    const limitOf = (path: string) => pathItem(path).get.parameters.find(({ name }) => name === 'limit')?.schema
    expect(limitOf('/api/v2.2/wallets/{address}/tokens')).toEqual({ type: 'integer' })
    expect(limitOf('/streams/evm')).toEqual({ type: 'integer', maximum: 100 })
  })

  const lists = [
    ['/nfts/transfers/collections/{collection_data_id_hash}', () => node.seed.transfers[0]],
    ['/nfts/transfers/wallets', () => node.seed.transfers[0]],
    ['/nfts/collections/{collection_data_id_hash}/tokens', () => node.seed.nfts[0]],
    ['/collections/creators', () => node.seed.collections[0]],
  ] as const
  it.each(lists)('the result of %s may be an object, and a list', (path, record) => {
    const validate = validatorFor(path, 200)
    for (const result of [record(), [record()], []]) {
      expect([validate({ cursor: 'c', hasNextPage: true, result }), validate.errors]).toEqual([true, null])
    }
    for (const result of [5, 'text', [{}], {}]) expect(validate({ cursor: 'c', hasNextPage: true, result })).toBe(false)
  })

  it('the 400 of the NFT group is an object of any shape', () => {
    for (const [path] of lists) expect(validatorFor(path, 400)({ anything: 5 })).toBe(true)
  })

  it('a transfer has microseconds and a Z, and an NFT microseconds', () => {
    const bare = '2024-01-01T00:00:00.123456'
    const isTaken = (path: string, record: object | undefined, change: object) =>
      validatorFor(path, 200)({ cursor: '', hasNextPage: false, result: { ...record, ...change } })
    const [[transfers, transfer], , [nfts, nft], [collections, collection]] = lists
    expect(isTaken(transfers, transfer(), { transaction_timestamp: bare })).toBe(false)
    expect(isTaken(transfers, transfer(), { transaction_timestamp: `${bare}Z` })).toBe(true)
    for (const [path, record] of [
      [nfts, nft],
      [collections, collection],
    ] as const) {
      for (const time of [bare, `${bare}Z`]) expect(isTaken(path, record(), { last_transaction_timestamp: time })).toBe(true)
      for (const time of [bare.slice(0, -3), 'soon', `${bare}+01:00`]) expect(isTaken(path, record(), { last_transaction_timestamp: time })).toBe(false)
    }
  })

  it('streams may be an object or a list, and only the id of a stream is required', () => {
    const validate = validatorFor('/streams/evm', 200)
    for (const result of [{ id: 'a' }, [{ id: 'a' }], []]) expect(validate({ result, cursor: '', total: 1 })).toBe(true)
  })
})

describe('openrpc.json', () => {
  it('is valid OpenRPC, according to its meta schema', () => {
    // Its types omit the schema that it exports.
    const { $schema: _, ...schema } = createRequire(import.meta.url)('@open-rpc/meta-schema').openrpcDocument
    const ajv = new Ajv({ strict: false })
    // A server's URL may have variables in OpenRPC, and is not a URI then.
    ajv.addFormat('uri', true)
    // It refers to JSON Schema by its own address, where draft 7 is found. Its `$ref` is only a
    // string.
    ajv.addSchema({ $id: 'https://meta.json-schema.tools', $ref: 'http://json-schema.org/draft-07/schema#' })
    const plain = JSON.stringify(schema)
      .replace('{"$ref":"https://meta.json-schema.tools/#/definitions/JSONSchemaObject/properties/$ref"}', '{"type":"string"}')
      .replaceAll('https://meta.json-schema.tools/', 'https://meta.json-schema.tools')
    const validate = ajv.compile(JSON.parse(plain))
    validate(openrpc)
    expect(validate.errors).toBeNull()
    expect(validate({ ...openrpc, methods: [{}] })).toBe(false)
  })

  it('has the address form of the specification, and null only if a block may be omitted', () => {
    expect((openrpc.servers[0] as unknown as { url: string }).url.replaceAll('$', '')).toBe('{rpc_base_url}/{chain}/{apiKey}')
    for (const { name, params } of openrpc.methods)
      for (const { schema, required } of params) expect([name, JSON.stringify(schema).includes('schemas/Block"') && required]).toEqual([name, false])
  })

  it('has the 28 methods and the 33 chains', () => {
    expect(openrpc.methods.map(({ name }) => name)).toEqual(Object.keys(methods))
    expect(openrpc.servers[0]?.variables.chain.enum).toEqual(Object.keys(chains))
  })

  describe('matches the sandbox’s answers', () => {
    let sandbox: Sandbox
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: 'openrpc', components: openrpc.components })
    const validatorOf = (schema: object) => ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openrpc#/')))
    /** Real params for each method, for a transaction with a log in block 2. */
    let samples: Record<string, readonly unknown[]>

    beforeAll(async () => {
      sandbox = await startSandbox()
      const viem = viemOn(sandbox.upstream)
      const token = await deploy(viem, tokenCode({ symbol: text('T') }))
      const hash = await mint(viem, token, alice, 1n)
      const { blockHash } = await viem.getTransactionReceipt({ hash })
      const raw = await viem.request({
        method: 'eth_signTransaction',
        params: [{ from: alice, to: alice, value: '0x1', gas: '0x5208', gasPrice: '0x77359400', nonce: '0x2' }],
      } as never)
      const call = { to: token, data: `0x70a08231${alice.slice(2).padStart(64, '0')}` }
      samples = {
        eth_blockNumber: [],
        eth_call: [call, 'latest'],
        eth_chainId: [],
        eth_createAccessList: [call, 'latest'],
        eth_estimateGas: [call],
        eth_feeHistory: ['0x2', 'latest', [25, 75]],
        eth_gasPrice: [],
        eth_getBalance: [alice, 'latest'],
        eth_getBlockByHash: [blockHash, true],
        eth_getBlockByNumber: ['0x2', false],
        eth_getBlockTransactionCountByHash: [blockHash],
        eth_getBlockTransactionCountByNumber: ['0x2'],
        eth_getBlockReceipts: [blockHash],
        eth_getCode: [token, 'latest'],
        eth_getLogs: [{ fromBlock: '0x0', toBlock: 'latest', address: [token], topics: [null, [], null] }],
        eth_getProof: [token, [`0x${'0'.repeat(64)}`], 'latest'],
        eth_getStorageAt: [token, '0x0', 'latest'],
        eth_getTransactionByHash: [hash],
        eth_getTransactionByBlockHashAndIndex: [blockHash, '0x0'],
        eth_getTransactionByBlockNumberAndIndex: ['0x2', '0x0'],
        eth_getTransactionCount: [alice, 'latest'],
        eth_getTransactionReceipt: [hash],
        eth_getUncleByBlockHashAndIndex: [blockHash, '0x0'],
        eth_getUncleByBlockNumberAndIndex: ['0x2', '0x0'],
        eth_getUncleCountByBlockHash: [blockHash],
        eth_getUncleCountByBlockNumber: ['0x2'],
        eth_maxPriorityFeePerGas: [],
        eth_sendRawTransaction: [raw],
      }
    })
    afterAll(() => sandbox?.stop())

    it.each(openrpc.methods)('$name', async ({ name, params, result }) => {
      await using client = createClient(sandbox.nodeUrl(), { retry: false })
      const given = samples[name] as readonly unknown[]
      expect(given.length).toBe(params.length)
      for (const [i, { schema }] of params.entries()) expect([given[i], validatorOf(schema)(given[i])]).toEqual([given[i], true])
      const answer = await client.request({ method: name, params: given })
      const validate = validatorOf(result.schema)
      validate(answer)
      expect(validate.errors).toBeNull()
      expect(validate(false)).toBe(false)
    })
  })
})
